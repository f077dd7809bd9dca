#!/usr/bin/python3
"""What two programs do to each other: alone, side by side on own cores, and on shared ones.

    bench/pairs.py stream gemm --rounds 5
    bench/pairs.py lstm dcgan --blas openblas-pthread --seconds 12 --skip 4

A program is a kernel of bench/pairs/kernels.c (stream, stencil, gemm, chase) or a workload. The
first gets the lower half of the cores, the second the upper half. Forms, once in every round, in an
order that rotates:

  alone     each by itself, on its half
  disjoint  both at once, each on its half
  guest-1   the first may use all cores, the second has its half
  guest-2   the other way round
  both      both may use all cores
  siblings  both may use all cores, each its own hardware threads (where a core has several)

Printed for each form: how much slower each program is than alone on its half (below 1: faster),
and what both together gain over `disjoint`, each counting the same. That is what the daemon's
trials judge.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Dict, List, Mapping, Sequence, Tuple

import ratios
import settings
import workload_run
from interleaved import rotated
from together import throughput
from workload_run import RunError, progress

KERNELS = ("chase", "gemm", "stencil", "stream")
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
START_PATIENCE = 60.0
WARMUP_STEPS = 3
ENDLESS_STEPS = 1000000


@dataclass(frozen=True)
class Start:
    """One program of a form: on these processing units, so many threads wide."""

    program: str
    units: Tuple[int, ...]
    width: int


@dataclass(frozen=True)
class Form:
    label: str
    starts: Tuple[Start, ...]


def threads_by_core() -> List[Tuple[int, ...]]:
    """Of the cores that we may use: their processing units that we may use."""
    mine = os.sched_getaffinity(0)
    found: Dict[str, List[int]] = {}
    for unit in sorted(mine):
        path = pathlib.Path(f"/sys/devices/system/cpu/cpu{unit}/topology/core_cpus_list")
        try:
            name = path.read_text(encoding="ascii").strip()
        except OSError:
            name = str(unit)
        found.setdefault(name, []).append(unit)
    return [tuple(units) for units in found.values()]


def forms(programs: Sequence[str], cores: Sequence[Tuple[int, ...]]) -> List[Form]:
    half = len(cores) // 2
    if half < 1:
        raise RunError("two cores at least")
    sides = [cores[:half], cores[half : 2 * half]]
    first, second = programs

    def on(program: str, held: Sequence[Tuple[int, ...]]) -> Start:
        return Start(program, tuple(unit for core in held for unit in core), len(held))

    own = [on(first, sides[0]), on(second, sides[1])]
    whole = [on(first, [*sides[0], *sides[1]]), on(second, [*sides[0], *sides[1]])]
    found = [
        Form("alone 1", (own[0],)),
        Form("alone 2", (own[1],)),
        Form("disjoint", (own[0], own[1])),
        Form("guest-1", (whole[0], own[1])),
        Form("guest-2", (own[0], whole[1])),
        Form("both", (whole[0], whole[1])),
    ]
    if all(len(core) > 1 for core in cores):
        lower = [core[: len(core) // 2] for core in cores[: 2 * half]]
        upper = [core[len(core) // 2 :] for core in cores[: 2 * half]]
        found.append(Form("siblings", (on(first, lower), on(second, upper))))
    return found


class Runner:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._kernels = options.build / "bin" / "kernels"
        self._base = settings.clean_environment(options.blas)

    def _environment(self, start: Start) -> Mapping[str, str]:
        words = {"OMP_NUM_THREADS": str(start.width), "KMP_BLOCKTIME": "1",
                 "LD_PRELOAD": settings.libomp_path()}  # fmt: skip
        pool = settings.OWN_POOL.get(self._options.blas)
        if pool:
            words[pool] = str(start.width)
        return {**self._base, **words}

    def _command(self, start: Start, report: pathlib.Path) -> List[str]:
        held = ["taskset", "-c", ",".join(map(str, start.units))]
        seconds = f"{self._options.seconds:g}"
        if start.program in KERNELS:
            return [*held, str(self._kernels), start.program, seconds, str(report)]
        workload = workload_run.Workload(start.program)
        return [*held, *workload.command(1, WARMUP_STEPS, report), "--seconds", seconds]

    def run(self, form: Form) -> List[float]:
        """Steps a second of each, while all of them ran."""
        with tempfile.TemporaryDirectory(prefix="optile-pairs-") as folder:
            reports = [pathlib.Path(folder, f"{i}.json") for i in range(len(form.starts))]
            running: List["subprocess.Popen[bytes]"] = []
            try:
                for start, report in zip(form.starts, reports):
                    running.append(subprocess.Popen(
                        self._command(start, report), env=dict(self._environment(start)),
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        start_new_session=True,
                    ))  # fmt: skip
                limit = 4 * self._options.seconds + START_PATIENCE
                codes = [process.wait(limit) for process in running]
            except subprocess.TimeoutExpired:
                raise workload_run.TooSlow(form.label) from None
            finally:
                for process in running:
                    workload_run.end_process(process)
            if any(codes):
                raise RunError(f"{form.label}: programs ended with {codes}")
            ends = [workload_run.load(report)["step_ends"] for report in reports]
        begin = max(one[0] for one in ends) + self._options.skip
        end = min(one[-1] for one in ends)
        return [throughput(one, begin, end) for one in ends]


Measured = Dict[str, List[List[float]]]  # by form: of each round, of each program


def measure(runner: Runner, wanted: Sequence[Form], rounds: int) -> Measured:
    made: Measured = {form.label: [] for form in wanted}
    for number in range(rounds):
        for form in rotated(wanted, number):
            rates = runner.run(form)
            made[form.label].append(rates)
            text = " and ".join(f"{rate:.3g}" for rate in rates)
            progress(f"round {number + 1}/{rounds} {form.label}: {text} steps/s")
    return made


def slowdown(made: Measured, label: str, place: int) -> ratios.Ratio:
    alone = [rates[0] for rates in made[f"alone {place + 1}"]]
    return ratios.times_as_fast(alone, [rates[place] for rates in made[label]])


def gain(made: Measured, label: str) -> ratios.Ratio:
    """Mean of the two ratios of throughput to `disjoint`, by round."""
    shared = [
        (now[0] / then[0] + now[1] / then[1]) / 2
        for now, then in zip(made[label], made["disjoint"])
    ]
    return ratios.times_as_fast(shared, [1.0] * len(shared))


def table(made: Measured, programs: Sequence[str]) -> List[str]:
    labels = [label for label in made if not label.startswith("alone")]
    first, second = (f"{name} slower by" for name in programs)
    lines = [f"{'':9}  {first:24} {second:24} both gain over disjoint"]
    for label in labels:
        cells = [str(slowdown(made, label, 0)), str(slowdown(made, label, 1))]
        last = "" if label == "disjoint" else str(gain(made, label))
        lines.append(f"{label:9}  {cells[0]:24} {cells[1]:24} {last}".rstrip())
    return lines


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs=2, choices=[*KERNELS, *workload_run.WORKLOADS])
    parser.add_argument("--blas", default="openblas-pthread", help="provider of workloads")
    parser.add_argument("--rounds", type=workload_run.positive, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run (default 2)")
    parser.add_argument("--skip", type=float, default=0.3, help="at the start of each run")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(arguments)
    wanted = forms(options.programs, threads_by_core())
    machine = settings.machine_description()
    made = measure(Runner(options), wanted, options.rounds)
    workload_run.write_json(options.json, {
        "kind": "pairs", "programs": options.programs, "machine": machine, "steps_a_second": made,
        "gain": {label: gain(made, label).as_json() for label in made
                 if not label.startswith(("alone", "disjoint"))},
    })  # fmt: skip
    print("\n".join(table(made, options.programs)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("pairs", main))
