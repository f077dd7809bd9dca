#!/usr/bin/python3
"""Compares --regions=tune with the best uniform setting of an OpenMP program, interleaved.

    bench/regions.py jacobi spmv particles --rounds 15 --json regions.json

First every uniform setting runs once: each number of threads, on GCC's and on LLVM's runtime, with
each way to wait. The best of them, the untouched program and the program under `optile run
--regions=tune` then take turns in rounds, in fresh processes. Optile has a daemon of its own, whose
plan is settled before the rounds. What is printed: milliseconds a step, and how many times as fast
as the best uniform setting each way is, with an interval of 95 % over the rounds. All runs have to
compute the same figure, to the last bit.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from typing import Any, Dict, List, Tuple

import interleaved
import settings
import workload_run
from interleaved import Length, Rounds
from private_daemon import PrivateDaemon, copy_build
from workload_run import Launch, RunError, Workload, launch_of, progress

PROGRAMS = ("jacobi", "particles", "spmv")
# No program here has a BLAS: any provider's environment is a clean one.
PROVIDER = "openblas-openmp"
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
HOPELESS = 4.0  # times as long as the best so far: such a setting is ended
OPTIONS = ("--regions=tune",)


def best_uniform(workload: Workload, seconds: float) -> Launch:
    """The uniform setting whose median step is shortest, in one run of each."""
    found: List[Tuple[float, Launch]] = []
    for setting in settings.grid(PROVIDER, settings.usable_cores()):
        launch = launch_of(setting, PROVIDER)
        best = min((step for step, _ in found), default=0.0)
        steps = workload_run.steps_for(best, seconds) if best else interleaved.PROBE_STEPS
        limit = 5.0 + HOPELESS * best * (steps + interleaved.PROBE_WARMUP) if best else None
        try:
            run = workload_run.run(launch, workload, steps, interleaved.PROBE_WARMUP, limit)
        except workload_run.TooSlow:
            progress(f"{workload.name}, {setting.name}: ended, far behind")
            continue
        found.append((run.median, launch))
        progress(f"{workload.name}, {setting.name}: {run.median * 1e3:.4g} ms a step")
    if not found:
        raise RunError(f"no uniform setting of {workload.name} ran to its end")
    return min(found, key=lambda one: one[0])[1]


def figures(rounds: Rounds) -> Dict[str, List[Any]]:
    return {label: [run.program.get("first_loss") for run in runs]
            for label, runs in rounds.runs.items()}  # fmt: skip


def check_figures(workload: Workload, rounds: Rounds) -> None:
    """The first step's figure does not depend on how many steps were run."""
    different = {figure for each in figures(rounds).values() for figure in each}
    if len(different) != 1:
        raise RunError(f"{workload.name} computed different figures: {figures(rounds)}")


def measure(workload: Workload, options: argparse.Namespace, build: pathlib.Path,
            folder: pathlib.Path) -> Dict[str, Any]:  # fmt: skip
    uniform = best_uniform(workload, options.seconds / 2)
    with PrivateDaemon(build, folder, workload.name) as daemon:
        clean = settings.clean_environment(PROVIDER)
        prepared = daemon.prepare(workload, clean, OPTIONS, options.prepare_seconds)
        progress(f"{workload.name}: {prepared.report.get('decision')}")
        ways = [uniform, Launch("untouched", clean),
                Launch("optile", clean, daemon.prefix(OPTIONS), daemon.report)]  # fmt: skip
        lengths: Dict[str, Length] = {
            way.label: interleaved.probe(way, workload, options.seconds) for way in ways
        }
        rounds = interleaved.measure(ways, workload, lengths, options.rounds)
    check_figures(workload, rounds)
    print(f"{workload.name}: {prepared.report.get('decision')}")
    print("\n".join(interleaved.table(rounds)), flush=True)
    ratio = rounds.times_as_fast(uniform.label, "optile")
    return {"workload": workload.name, "uniform": uniform.label, "prepared": prepared.as_json(),
            "explanations": prepared.explanations, "against_uniform": ratio.as_json(),
            "against_untouched": rounds.times_as_fast("untouched", "optile").as_json(),
            "rounds": rounds.complete(), "runs": rounds.as_json()}  # fmt: skip


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workload", nargs="+", choices=PROGRAMS)
    parser.add_argument("--rounds", type=workload_run.positive, default=15)
    parser.add_argument("--seconds", type=float, default=4.0, help="of timed steps in each run")
    parser.add_argument("--prepare-seconds", type=float, default=120.0, help="for the plan")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the result here")
    options = parser.parse_args(arguments)
    machine = settings.machine_description()
    results: List[Dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        build = pathlib.Path(folder, "build")
        build_of = copy_build(options.build, build)
        for name in options.workload:
            workload = workload_run.workload_in(options.build, name)
            results.append(measure(workload, options, build, pathlib.Path(folder)))
            workload_run.write_json(options.json, {
                "kind": "regions", "machine": machine, "build": build_of, "results": results,
            })  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("regions", main))
