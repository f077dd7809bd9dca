#!/usr/bin/python3
"""What optile does on a machine with many cores, within a given time.

    bench/many_cores/run.sh --out results      # calls this; it also knows a packed tree

Programs alone against the best uniform width; pairs and three at once under leases against all
static splits, each program pinned to its cores with as many threads; predicted widths against
measured ones; threads bound or not. Only Python and PyTorch are needed beside the products. When
the time is over, what was found until then is written all the same.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import blas_provider  # noqa: E402
import parts  # noqa: E402
import settings  # noqa: E402
import steered  # noqa: E402
import tables  # noqa: E402
import workload_run  # noqa: E402
from parts import Bench  # noqa: E402
from steered import Program  # noqa: E402
from workload_run import RunError, TooSlow, progress  # noqa: E402

Json = Dict[str, Any]
BRIDGE_SECONDS = 120.0
ENDING_SECONDS = 10.0
# A part that gets less says nothing.
LEAST_SECONDS = 8.0
# A part that takes so many times its share is given up.
MOST_OF_SHARE = 1.5
# A part is told of so much of its share: starts differ, and the last one has nobody to take from.
TOLD = 0.85
LSTM, DCGAN, RESNET = Program("lstm", 20), Program("dcgan", 64), Program("resnet50", 4)


@dataclass(frozen=True)
class Part:
    kind: str
    title: str
    weight: float  # of the time that is left beside starts
    starts: int  # one after the other
    measure: Callable[[Bench, float], Json]


def together_part(programs: Tuple[Program, ...], weight: float) -> Part:
    title = " + ".join(one.name for one in programs)
    return Part("several", title, weight, 2, lambda bench, s: parts.several(bench, programs, s))


def single_part(program: Program) -> Part:
    return Part("single", program.name, 28, 2, lambda bench, s: parts.single(bench, program, s))


def all_parts(cores: int) -> List[Part]:
    found = [single_part(program) for program in (LSTM, RESNET, DCGAN)]
    found += [together_part((LSTM, RESNET), 60), together_part((RESNET, DCGAN), 60)]
    if cores > 2:
        found.append(together_part((LSTM, RESNET, DCGAN), 100))
    found.append(
        Part("binding", "threads bound", 40, 2 * len(parts.BOUND),
             lambda bench, s: parts.binding(bench, RESNET, s))
    )  # fmt: skip
    found.append(
        Part("accuracy", "predicted widths", 45, 1 + len(settings.counts(cores)),
             lambda bench, s: parts.accuracy(bench, LSTM, s))
    )  # fmt: skip
    return found


def prepare_bridge(optile: pathlib.Path) -> str:
    """What will be seen of PyTorch. A bridge is built where there is a compiler; else those that
    were packed have been put into the cache, and one of them may fit."""
    python = ["--python", blas_provider.PYTHON]
    checked = subprocess.run([optile, "bridge", "check", *python], capture_output=True, text=True)
    if checked.returncode == 0:
        return "bridge of an earlier build"
    progress("building the bridge to PyTorch")
    try:
        built = subprocess.run(
            [optile, "bridge", "build", *python], capture_output=True, text=True,
            timeout=BRIDGE_SECONDS,
        )  # fmt: skip
        if built.returncode == 0:
            return "bridge built there"
        reason = (built.stderr or built.stdout).strip().splitlines()
    except subprocess.TimeoutExpired:
        reason = [f"the compiler took more than {BRIDGE_SECONDS:.0f} s"]
    progress(f"no bridge: {reason[-1] if reason else 'no reason given'}")
    return "no bridge, OpenMP regions only: widths of ops are left alone"


def torch_version() -> str:
    done = subprocess.run(
        [blas_provider.PYTHON, "-c", "import torch; print(torch.__version__)"],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"{blas_provider.PYTHON} has no PyTorch: name another with --python")
    return done.stdout.strip()


def measure_start(bench: Bench) -> float:
    """Of a program that another one has brought into the page cache: imports take from two seconds
    to twenty."""
    for _ in range(2):
        begin = time.monotonic()
        with bench.running([LSTM]):
            took = time.monotonic() - begin
    progress(f"a start takes {took:.1f} s")
    return took


def parts_that_fit(bench: Bench, wanted: List[Part], seconds: float) -> List[Part]:
    """The last ones are left out where starts alone would take the time."""
    fitting = list(wanted)
    while sum(one.starts * bench.start_seconds + LEAST_SECONDS for one in fitting) > seconds / 1.5:
        fitting.pop()
    return fitting


def measure_all(bench: Bench, wanted: List[Part], until: float, result: Json) -> None:
    left = parts_that_fit(bench, wanted, until - time.monotonic())
    never = [one.title for one in wanted[len(left):]]
    result["left_out"] = never
    while left:
        part = left.pop(0)
        result["left_out"] = [one.title for one in [part, *left]] + never
        seconds = until - time.monotonic()
        starts = [one.starts * bench.start_seconds for one in [part, *left]]
        weights = [one.weight for one in [part, *left]]
        share = starts[0] + max(0.0, seconds - sum(starts)) * weights[0] / sum(weights)
        share *= TOLD
        if seconds < LEAST_SECONDS:
            return
        progress(f"{part.kind}: {part.title}, {share:.0f} s")
        begin = time.monotonic()
        try:
            steered.give_up_at(begin + min(seconds, MOST_OF_SHARE * share))
            found = part.measure(bench, share)
        except (RunError, TooSlow, KeyError, ValueError) as error:
            found = {"failed": str(error) or repr(error)}
        if "failed" in found:
            progress(f"{part.title} failed: {found['failed']}")
        took = time.monotonic() - begin
        found.update({"kind": part.kind, "title": part.title, "seconds": took})
        result["parts"].append(found)
    result["left_out"] = never


def parse_options(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("many_cores"))
    parser.add_argument("--seconds", type=float, default=400.0, help="in all (default 400)")
    parser.add_argument("--quick", action="store_true", help="90 seconds: whether it all works")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    workload_run.add_python_argument(parser)
    return parser.parse_args(arguments)


def main(arguments: List[str]) -> int:
    begin = time.monotonic()
    options = parse_options(arguments)
    if options.python is None:
        blas_provider.use_python(sys.executable)
    seconds = 90.0 if options.quick else options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    units = sorted(os.sched_getaffinity(0))[: settings.usable_cores()]
    result: Json = {
        "kind": "many_cores", "machine": settings.machine_description(), "parts": [],
        "left_out": [], "torch": torch_version(), "seconds": seconds,
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as private:
        bench = Bench(
            options.build.resolve(), options.out.resolve() / "logs", pathlib.Path(private), units,
            settings.clean_environment(blas_provider.WITHIN_PYTORCH),
        )  # fmt: skip
        result["bridge"] = prepare_bridge(bench.build / "bin" / "optile")
        bench.start_seconds = result["start_seconds"] = measure_start(bench)
        # Programs that are given up need a moment to end.
        measure_all(bench, all_parts(len(units)), begin + seconds - ENDING_SECONDS, result)
    workload_run.write_json(options.out / "many_cores.json", result)
    text = "\n".join(tables.lines(result)) + "\n"
    (options.out / "many_cores.md").write_text(text, encoding="utf-8")
    print(text)
    progress(f"written to {options.out}")
    return 1 if any("failed" in one for one in result["parts"]) else 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("many_cores", main))
