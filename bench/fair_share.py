#!/usr/bin/python3
"""Whether each of two programs gets its fair share beside the other.

    bench/fair_share.py --programs libgomp torch --duties 1 50 --bursts 2 200 --rounds 3

A program runs beside a neighbour of OpenMP regions that works so much of the time (`--duties`, per
cent) in bursts of so many milliseconds (`--bursts`). In each round every pair runs bare and under
optile, where a plain Linux scheduler divides the cores in the first. What is printed is the
progress of each under optile as a multiple of its progress bare, with the interval over the rounds.
The neighbour that works all the time is the same at every burst.

Programs: libgomp and libomp (regions of 0.1 ms), mpi (two ranks of them), numpy, sklearn, torch and
tensorflow, as far as `--python` has them. What is missing is left out, by name.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Optional, Sequence, Tuple

import ratios
import workload_run
from private_daemon import copy_build
from workload_run import RunError, progress

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OPENMP = {"libgomp": ("gcc", []), "libomp": ("clang-14", ["-fopenmp=libomp"])}
PYTHONS = {"numpy": "numpy", "sklearn": "sklearn", "torch": "torch", "tensorflow": "tensorflow"}
PROGRAMS = [*OPENMP, "mpi", *PYTHONS]
FULL = 100  # per cent: never pauses
START_SECONDS = 40.0

Marks = List[Tuple[float, int]]


def compile_regions(folder: pathlib.Path, compiler: str, options: Sequence[str]) -> Optional[str]:
    target = folder / f"regions-{compiler}"
    words = [compiler, "-O2", "-fopenmp", *options, str(HERE / "fair_share" / "regions.c"),
             "-o", str(target)]  # fmt: skip
    if shutil.which(compiler) is None:
        return None
    return str(target) if subprocess.run(words, check=False).returncode == 0 else None


def commands(folder: pathlib.Path, python: str, wanted: Sequence[str]) -> Dict[str, List[str]]:
    """Each program's words; what cannot be had here is left out and said."""
    found: Dict[str, List[str]] = {}
    for name in wanted:
        if name in OPENMP:
            built = compile_regions(folder, *OPENMP[name])
            if built:
                found[name] = [built, "1", "0"]
        elif name == "mpi":
            built = compile_regions(folder, *OPENMP["libgomp"])
            if built and shutil.which("mpirun"):
                found[name] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to",
                               "none", "-n", "2", built, "1", "0"]  # fmt: skip
        elif subprocess.run([python, "-c", f"import {PYTHONS[name]}"], check=False,
                            stderr=subprocess.DEVNULL).returncode == 0:  # fmt: skip
            found[name] = [python, str(HERE / "fair_share" / "loops.py"), name]
        if name not in found:
            progress(f"left out: {name} cannot be had here")
    return found


def marks_in(path: pathlib.Path) -> Marks:
    marks: Marks = []
    for line in path.read_text(errors="replace").splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            marks.append((float(words[0]), int(words[1])))
    return marks


def rate(marks: Marks, begin: float, end: float) -> float:
    """Steps a second between two moments, by the steps around them."""

    def steps_at(moment: float) -> float:
        for (t0, s0), (t1, s1) in zip(marks, marks[1:]):
            if t0 <= moment <= t1:
                return s0 + (s1 - s0) * (moment - t0) / max(t1 - t0, 1e-9)
        return float(marks[-1][1])

    return (steps_at(end) - steps_at(begin)) / (end - begin)


class Running:
    def __init__(self, words: Sequence[str], out: pathlib.Path, environment: Dict[str, str]):
        self.out = out
        with out.open("w") as stream:
            self.process = subprocess.Popen(
                list(words), stdout=stream, stderr=subprocess.DEVNULL, env=environment,
                stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip

    def wait_for_steps(self, least: int) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            marks = marks_in(self.out)
            if marks and marks[-1][1] >= least:
                return
            if self.process.poll() is not None:
                raise RunError(f"{self.process.args} ended with {self.process.returncode}")
            time.sleep(0.05)
        raise RunError(f"{self.process.args} made no steps")

    def end(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        workload_run.end_process(self.process)


def run_pair(folder: pathlib.Path, program: List[str], neighbour: Optional[List[str]],
             options: argparse.Namespace, launcher: List[str]) -> Tuple[float, float]:  # fmt: skip
    """Steps a second of the program and of the neighbour that came after it."""
    place = pathlib.Path(tempfile.mkdtemp(dir=folder))
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(place), XDG_STATE_HOME=str(place))
    os.chmod(place, 0o700)
    running = [Running([*launcher, *program], place / "program", environment)]
    try:
        running[0].wait_for_steps(3)
        time.sleep(options.alone)
        if neighbour:
            running.append(Running([*launcher, *neighbour], place / "neighbour", environment))
            running[1].wait_for_steps(0)
        begin = time.monotonic() + options.skip
        end = begin + options.seconds
        time.sleep(end - time.monotonic() + 0.3)
    finally:
        for one in running:
            one.end()
        # Also ranks that mpirun leaves behind where it ends too soon.
        subprocess.run(["pkill", "-f", str(folder)], check=False)
    if options.keep_logs:
        for log in place.glob("optile/optiled.log"):
            shutil.copy(log, options.keep_logs)
    rates = [rate(marks_in(one.out), begin, end) for one in running]
    return rates[0], rates[1] if neighbour else math.nan


def neighbours(options: argparse.Namespace) -> List[Tuple[int, float]]:
    pairs = [(duty, burst) for duty, burst in itertools.product(options.duties, options.bursts)
             if duty < FULL]  # fmt: skip
    return pairs + [(FULL, options.bursts[0])] * (FULL in options.duties)


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--duties", nargs="+", type=int, default=[1, 10, 50, 100])
    parser.add_argument("--bursts", nargs="+", type=float, default=[2, 200])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--alone", type=float, default=1, help="of the program, before the other")
    parser.add_argument("--skip", type=float, default=1.5, help="of both, not counted")
    parser.add_argument("--keep-logs", type=pathlib.Path, help="a file: the latest daemon's log")
    parser.add_argument("--optile-options", nargs="*", default=[])
    return parser.parse_args(arguments)


def pairs_in_burst(folder: pathlib.Path, regions: str, options: argparse.Namespace) -> float:
    """Pairs of regions in a millisecond, alone."""
    bare = argparse.Namespace(**{**vars(options), "seconds": 1.0, "skip": 0.3, "alone": 0.0})
    return run_pair(folder, [regions, "1", "0"], None, bare, [])[0] / 1000


def ratio_text(cell: List[Tuple[List[float], List[float]]], side: int) -> str:
    """Of rounds in which that side made a step both times; a long pause leaves none."""
    rounds = [(bare[side], under[side]) for bare, under in cell if bare[side] and under[side]]
    if not rounds:
        return "no step"
    return str(ratios.times_as_fast([under for _, under in rounds], [bare for bare, _ in rounds]))


def main(arguments: List[str]) -> int:
    options = parse(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_build(options.build, folder / "build")
        optile = [str(folder / "build" / "bin" / "optile"), "run", *options.optile_options, "--"]
        found = commands(folder, options.python, options.programs)
        regions = compile_regions(folder, *OPENMP["libgomp"])
        if regions is None:
            raise RunError("gcc with OpenMP is needed for the neighbour")
        speed = pairs_in_burst(folder, regions, options)
        progress(f"{1 / speed:.3f} ms a pair of regions, alone")
        table: Dict[Tuple[str, int, float], List[Tuple[List[float], List[float]]]] = {}
        for turn in range(options.rounds):
            for program, (duty, burst) in itertools.product(found, neighbours(options)):
                count = max(1, round(burst * speed))
                pause = 0 if duty >= FULL else burst * (FULL - duty) / duty
                beside = [regions, str(count), f"{pause:.3f}"]
                ways = [[], optile] if turn % 2 == 0 else [optile, []]
                got = {bool(way): run_pair(folder, found[program], beside, options, way)
                       for way in ways}  # fmt: skip
                cell = table.setdefault((program, duty, burst), [])
                cell.append((list(got[False]), list(got[True])))
                shares = [u / max(b, 1e-9) for b, u in zip(got[False], got[True])]
                progress(f"{program} beside {duty} % in bursts of {burst:g} ms: bare "
                         f"{got[False][0]:.4g} and {got[False][1]:.4g} steps a second, under "
                         f"optile {shares[0]:.2f} and {shares[1]:.2f} times that")  # fmt: skip
        print(f"{'program':<11}{'duty':>5}{'burst ms':>9}  {'program, of bare':<24}"
              "neighbour, of bare")  # fmt: skip
        for (program, duty, burst), cell in table.items():
            texts = [ratio_text(cell, i) for i in (0, 1)]
            print(f"{program:<11}{duty:>4}%{burst:>9g}  {texts[0]:<24}{texts[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("fair_share", main))
