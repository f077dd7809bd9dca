#!/usr/bin/env python3
"""Keras models made at random, untouched and under optile: do they end, with the same losses?

    bench/tensorflow/generated.py --python VENV/bin/python3 --models 300 --json FILE
    bench/tensorflow/generated.py --python VENV/bin/python3 --graphs 500 --json FILE

Each program trains some of them one after the other, with another number of inter-op threads and
strategy than the program before; its search may cost what it likes, so that every model gets to
the gate. With --graphs: small graphs of loops, functions, queues and Python functions in place of
models, in sessions of 1, 2, 4 and 16 inter-op threads, of whose runs some fail or are cancelled.
Nothing is timed. Needs a finished build.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import settings  # noqa: E402
import workload_run  # noqa: E402
from private_daemon import PrivateDaemon, copy_build  # noqa: E402
from workload_run import RunError, progress  # noqa: E402

PROGRAMS = HERE.parents[1] / "tests" / "programs" / "python"
INTER = range(1, 17)
STRATEGIES = ("2", "3", "4", "look-ahead", "auto")
# In one program.
MODELS_EACH = 6
GRAPHS_EACH = 50


@dataclass(frozen=True)
class Batch:
    """Models that one program trains, or graphs that it runs."""

    first: int
    count: int
    inter: int
    strategy: str
    are_graphs: bool = False

    def command(self, python: str, steps: int) -> List[str]:
        name = "tensorflow_graphs.py" if self.are_graphs else "tensorflow_generated.py"
        made = ("--graphs", "--runs") if self.are_graphs else ("--models", "--steps")
        return [
            python, str(PROGRAMS / name), "--first", str(self.first), made[0], str(self.count),
            made[1], str(steps), "--inter", str(self.inter),
        ]  # fmt: skip


def batches(first: int, count: int, each: int, are_graphs: bool) -> List[Batch]:
    starts = range(first, first + count, each)
    return [
        Batch(
            start,
            min(each, first + count - start),
            INTER[number % len(INTER)],
            STRATEGIES[(number + number // len(INTER)) % len(STRATEGIES)],
            are_graphs,
        )
        for number, start in enumerate(starts)
    ]


def losses_of(command: Sequence[str], patience: float) -> List[List[float]]:
    """Of each model. RunError where it does not end well, or not at all."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2"}
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"does not end in {patience:.0f} s: {' '.join(command)}") from error
    if ended.returncode != 0:
        said = f"{' '.join(command)}\n{ended.stderr[-2000:]}"
        raise RunError(f"ended with {ended.returncode}: {said}")
    lines = [line.split()[3:] for line in ended.stdout.splitlines() if line.startswith("model ")]
    return [[float.fromhex(loss) for loss in losses] for losses in lines]


def largest_difference(untouched: Sequence[float], steered: Sequence[float]) -> float:
    """Of two trainings' losses, over how large they are."""
    pairs = zip(untouched, steered, strict=True)
    return max(abs(a - b) / max(abs(a), abs(b), 1e-3) for a, b in pairs)


def compare(batch: Batch, daemon: PrivateDaemon, options: argparse.Namespace) -> Dict[str, Any]:
    """A batch untouched and under optile."""
    command = batch.command(options.python, options.steps)
    found: Dict[str, Any] = {"first": batch.first, "count": batch.count, "inter": batch.inter,
                             "strategy": batch.strategy}  # fmt: skip
    try:
        untouched = losses_of(command, options.patience)
        daemon.report.unlink(missing_ok=True)
        words = ("--search", "paper", "--strategy", batch.strategy)
        steered = losses_of([*daemon.prefix(words), *command], options.patience)
        report = json.loads(daemon.report.read_text(encoding="utf-8"))
        for name in ("decision", "steps", "sampled_steps"):
            found[name] = report.get(name)
        found["differences"] = [
            largest_difference(before, after)
            for before, after in zip(untouched, steered, strict=True)
        ]
    except (RunError, ValueError, OSError) as error:
        found["fault"] = str(error)
    return found


def summary(results: Sequence[Dict[str, Any]]) -> str:
    differences = [value for found in results for value in found.get("differences", [])]
    faults = [found for found in results if "fault" in found]
    by_strategy = {
        name: sum(len(one.get("differences", [])) for one in results if one["strategy"] == name)
        for name in STRATEGIES
    }
    lines = [f"{len(differences)} ran both ways, {len(faults)} programs failed."]
    lines.append("By strategy: " + ", ".join(f"{k}: {v}" for k, v in by_strategy.items()) + ".")
    if differences:
        equal = sum(1 for value in differences if value == 0)
        lines.append(
            f"{equal} with the same bits; the largest relative difference of a loss is "
            f"{max(differences):.2e}."
        )
    lines += [f"first {found['first']}, inter {found['inter']}, strategy {found['strategy']}: "
              f"{found['fault']}" for found in faults]  # fmt: skip
    return "\n".join(lines)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="one with TensorFlow")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build")
    parser.add_argument("--models", type=workload_run.positive, default=300)
    parser.add_argument("--graphs", type=workload_run.positive, help="so many in place of models")
    parser.add_argument("--each", type=workload_run.positive, help="in one program")
    parser.add_argument("--first", type=int, default=1, help="the first one's seed")
    parser.add_argument("--steps", type=workload_run.positive, default=60, help="of each")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for one program")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(arguments)
    results: List[Dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as name:
        folder = pathlib.Path(name)
        copy_build(options.build, folder / "build")
        with PrivateDaemon(
            folder / "build", folder, "generated", ("--external-load", "ignore")
        ) as daemon:
            count, are_graphs = options.graphs or options.models, options.graphs is not None
            each = options.each or (GRAPHS_EACH if are_graphs else MODELS_EACH)
            for batch in batches(options.first, count, each, are_graphs):
                found = compare(batch, daemon, options)
                results.append(found)
                progress(f"{batch}: {found.get('fault') or max(found['differences'])}")
                workload_run.write_json(options.json, {
                    "kind": "tensorflow-graphs" if are_graphs else "tensorflow-generated",
                    "machine": settings.machine_description(),
                    "steps": options.steps, "programs": results,
                })  # fmt: skip
    print(summary(results))
    return 1 if any("fault" in found for found in results) else 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("generated", main))
