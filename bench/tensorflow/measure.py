#!/usr/bin/env python3
"""Keras networks untouched, with every uniform setting of TensorFlow's threads, and under optile.

    bench/tensorflow/measure.py --python VENV/bin/python3 --json FILE

Rounds are interleaved. The uniform settings run twice first, the fastest goes on. Under optile
there is one earlier run, which ends when its plan is settled. Needs a finished build.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import pathlib
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import blas_provider  # noqa: E402
import interleaved  # noqa: E402
import ratios  # noqa: E402
import settings  # noqa: E402
import workload_run  # noqa: E402
from interleaved import Length, Rounds  # noqa: E402
from private_daemon import PrivateDaemon, copy_build  # noqa: E402
from workload_run import Launch, Workload, progress  # noqa: E402

NETWORKS = ("lstm", "gru", "dcgan", "resnet50", "inception_v3", "efficientnet", "bert")
DEFAULT, OBSERVED, STEERED = "default", "observed", "optile"


@dataclass(frozen=True)
class Network(Workload):
    """A network of networks.py; `words` are more of its options."""

    python: str = ""
    words: Tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return " ".join([self.name, *(word.lstrip("-") for word in self.words)])

    def command(self, steps: int, warmup: int, own_report: pathlib.Path) -> List[str]:
        return [
            self.python, str(HERE / "networks.py"), self.name, *self.words, "--quiet",
            "--steps", str(steps), "--warmup", str(warmup), "--json", str(own_report),
        ]  # fmt: skip


def environment(**more: str) -> Dict[str, str]:
    clean = settings.clean_environment(blas_provider.WITHIN_PYTORCH)
    return {**clean, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", **more}


def uniform_settings() -> List[Launch]:
    widths = range(1, settings.usable_cores() + 1)
    return [
        Launch(f"{inter},{intra}", environment(TF_INTER=str(inter), TF_INTRA=str(intra)))
        for inter, intra in itertools.product(widths, widths)
    ]


def best_uniform(network: Network, lengths: Length, rounds: int) -> Launch:
    launches = uniform_settings()
    found = interleaved.measure(launches, network, {x.label: lengths for x in launches}, rounds)
    return min(launches, key=lambda one: found.step_seconds(one.label))


def figures(rounds: Rounds, uniform: str, report: Dict[str, Any]) -> Dict[str, Any]:
    coverage = report.get("coverage") or {}
    found = {
        "rounds": rounds.complete(), "foreign_cores": rounds.foreign_cores(),
        "default_ms": rounds.step_seconds(DEFAULT) * 1e3, "best_uniform": uniform,
        "coverage": coverage, "decision": report.get("decision"),
        "runs": {name: rounds.medians(name) for name in rounds.labels},
    }  # fmt: skip
    for label in rounds.labels[1:]:
        found[f"{label}_over_default"] = rounds.times_as_fast(DEFAULT, label)
    if uniform in rounds.labels:
        found["over_uniform"] = rounds.times_as_fast(uniform, STEERED)
    return found


def measure(network: Network, build: pathlib.Path, options: argparse.Namespace) -> Dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder, PrivateDaemon(
        build, pathlib.Path(folder), network.name, ("--external-load", "ignore")
    ) as daemon:
        first = daemon.prepare(network, environment(), (), options.prepare_seconds)
        progress(f"{network.title}: {first.report.get('decision')}")
        default = Launch(DEFAULT, environment())
        length = interleaved.probe(default, network, options.seconds)
        launches = [default]
        uniform = ""
        if options.uniform:
            best = best_uniform(network, length, 2)
            uniform = best.label
            launches.append(best)
        if options.observed:
            launches.append(Launch(OBSERVED, environment(), daemon.prefix(("--mode", "observe"))))
        launches.append(Launch(STEERED, environment(), daemon.prefix(()), report=daemon.report))
        rounds = interleaved.measure(
            launches, network, {one.label: length for one in launches}, options.rounds
        )
        last = rounds.runs[STEERED][-1].report
        found = figures(rounds, uniform, {**last, "coverage": first.report.get("coverage")})
    found["settled"] = first.settled
    return {"network": network.title, **found}


def row(found: Dict[str, Any]) -> str:
    coverage = found["coverage"]
    shown = [f"{100 * coverage.get(name, 0):.1f} %" for name in ("observed", "steered")]
    cells = [found["network"], f"{found['default_ms']:.1f}", found["best_uniform"] or "-"]
    names = (f"{OBSERVED}_over_default", f"{STEERED}_over_default", "over_uniform")
    cells += [str(found.get(name, "-")) for name in names]
    return "| " + " | ".join([*cells, str(found["rounds"]), *shown, found["decision"] or ""]) + " |"


HEAD = (
    "| network | default, ms a step | best inter,intra | observed over default | "
    "optile over default | optile over best | n | observed | steerable | decision |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def table(results: Sequence[Dict[str, Any]]) -> str:
    lines = [HEAD, *map(row, results)]
    for name, title in ((f"{STEERED}_over_default", "default"), ("over_uniform", "best uniform")):
        values = [found[name].value for found in results if name in found]
        if values:
            lines.append(f"\nGeometric mean over {title}: {ratios.geometric_mean(values):.3f}.")
    foreign = max(found["foreign_cores"] for found in results)
    return "\n".join([*lines, f"\nOthers kept up to {foreign:.2f} cores busy meanwhile."])


def saved(results: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    def plain(value: Any) -> Any:
        return value.as_json() if isinstance(value, ratios.Ratio) else value

    return [{name: plain(value) for name, value in found.items()} for found in results]


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--python", required=True, help="one with TensorFlow")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build")
    parser.add_argument("--predict", action="store_true", help="the forward pass alone")
    parser.add_argument("--rounds", type=workload_run.positive, default=8)
    parser.add_argument("--seconds", type=float, default=5.0, help="of timed steps in each run")
    parser.add_argument("--prepare-seconds", type=float, default=90.0)
    parser.add_argument("--uniform", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--observed", action="store_true", help="also under --mode observe")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE", help="the table")
    options = parser.parse_args(arguments)
    results: List[Dict[str, Any]] = []
    words = ("--predict",) if options.predict else ()
    with tempfile.TemporaryDirectory(prefix="optile-bench-build-") as copy:
        copy_build(options.build, pathlib.Path(copy))
        for name in options.networks:
            network = Network(name, python=options.python, words=words)
            results.append(measure(network, pathlib.Path(copy), options))
            workload_run.write_json(options.json, {
                "kind": "tensorflow", "machine": settings.machine_description(),
                "date": datetime.date.today().isoformat(), "networks": saved(results),
            })  # fmt: skip
            text = table(results)
            if options.write:
                options.write.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("tensorflow", main))
