#!/usr/bin/python3
"""How much several programs get done together: under optile, split by hand, and as recommended.

    bench/together.py lstm resnet50 --blas openblas-pthread --rounds 6 --json pair.json

A program's progress is its throughput while the others run, divided by its throughput alone at its
own best uniform setting; the weighted speed-up is the sum over the programs. 1.0 is what running
them one after the other gives. Every round runs each way once, in an order that rotates.

Ways: `recommended` (each with all cores and its own runtime), every static split of the cores
(pinned, each program at the best setting found for so many cores), and `optile` (no setting at all;
a daemon of its own, prepared by a run of each program alone and runs of all together). Each run of
a program has the same words, so that what was found out about it in one is known in the next. More
programs than cores cannot be split; one after the other is what they are held against then.

`--pause 2`: the first program waits two seconds after every two of work, as for data, so that
demand changes; waiting counts. `resnet50:2` is a program with another batch than its own.
"""

from __future__ import annotations

import argparse
import itertools
import math
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

import ratios
import settings
import workload_run
from private_daemon import PrivateDaemon, copy_build
from interleaved import rotated
from workload_run import Launch, RunError, Workload, launch_of, progress

CALIBRATION_SECONDS = 4.0
WARMUP_STEPS = 3
START_PATIENCE = 120.0
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"


@dataclass(frozen=True)
class Way:
    label: str
    starts: Tuple[Launch, ...]  # in the order of the programs


@dataclass
class Outcome:
    """Steps a second of each program while all of them ran."""

    throughputs: List[float]


def report_of(workloads: Sequence[Workload], place: int) -> pathlib.Path:
    """By a name that is the same whoever else runs."""
    name = workloads[place].name
    return pathlib.Path(f"{name}-{[one.name for one in workloads[:place]].count(name)}.json")


def words_of(workload: Workload, seconds: float, report: pathlib.Path) -> List[str]:
    return [*workload.command(1, WARMUP_STEPS, report), "--seconds", f"{seconds:g}"]


def throughput(ends: Sequence[float], begin: float, end: float) -> float:
    """Whole steps inside the time that all programs ran. One that finished no two steps there is
    given the rate of the steps around it."""
    inside = [one for one in ends if begin <= one <= end]
    if len(inside) < 2:
        inside = list(ends)
    return (len(inside) - 1) / (inside[-1] - inside[0]) if len(inside) > 1 else 0.0


def run_together(
    starts: Sequence[Launch], workloads: Sequence[Workload], seconds: float, skip: float = 0.0
) -> Outcome:
    """Starts all at once; each makes steps for that long. `skip`: seconds at the beginning, from
    when the last one is ready, that do not count."""
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        reports = [report_of(workloads, i) for i in range(len(starts))]
        outputs = [open(pathlib.Path(folder, f"{i}.txt"), "w+") for i in range(len(starts))]
        running: List["subprocess.Popen[Any]"] = []
        try:
            for start, workload, report, output in zip(starts, workloads, reports, outputs):
                command = [*start.prefix, *words_of(workload, seconds, report)]
                running.append(subprocess.Popen(
                    command, env=dict(start.environment), stdin=subprocess.DEVNULL, stdout=output,
                    stderr=output, start_new_session=True, cwd=folder,
                ))  # fmt: skip
            limit = time.monotonic() + 4 * seconds + START_PATIENCE
            for process in running:
                process.wait(max(1.0, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise workload_run.TooSlow(f"{len(starts)} programs together") from None
        finally:
            for process in running:
                workload_run.end_process(process)
            texts = []
            for output in outputs:
                output.seek(0)
                texts.append("".join(output.readlines()[-workload_run.LINES_OF_ERROR:]))
                output.close()
        for process, workload, text in zip(running, workloads, texts):
            if process.returncode != 0:
                raise RunError(f"{workload.name} ended with {process.returncode}:\n{text}")
        programs = [workload_run.load(pathlib.Path(folder, report)) for report in reports]
        for start, workload, program in zip(starts, workloads, programs):
            workload_run.check(start, workload, program)
        ends = [program["step_ends"] for program in programs]
    begin = max(one[0] for one in ends) + skip
    end = min(one[-1] for one in ends)
    return Outcome([throughput(one, begin, end) for one in ends])


# --- the settings by hand -------------------------------------------------------------------


def hand_settings(provider: Optional[str], cores: int) -> List[settings.Setting]:
    """What is worth trying on so many cores: libomp with a short block time, as elsewhere here the
    host optimum mostly is, with the BLAS pool, where there is one, as wide, of one thread, and one
    thread in all."""
    own_pool = settings.OWN_POOL.get(provider or "")
    preload = {"LD_PRELOAD": settings.libomp_path(), "KMP_BLOCKTIME": "1"}
    found = []
    for threads in settings.counts(cores):
        pools = sorted({1, threads}) if own_pool else [0]
        for pool in pools:
            words = {**preload, "OMP_NUM_THREADS": str(threads)}
            name = f"{threads} threads"
            if own_pool:
                words[own_pool] = str(pool)
                name += f", BLAS {pool}"
            found.append(settings.Setting(name, words, "llvm"))
    return found


def pinned(cores: Sequence[int]) -> Tuple[str, ...]:
    return ("taskset", "-c", ",".join(map(str, cores)))


def calibrate(
    workload: Workload, provider: str, cores: Sequence[int]
) -> Tuple[Launch, float]:
    """The best of the settings on these cores, alone: how to start it, steps a second."""
    found: List[Tuple[float, Launch]] = []
    pools = None if workload.binary else provider
    for setting in hand_settings(pools, len(cores)):
        launch = replace(launch_of(setting, provider), prefix=pinned(cores))
        made = run_together([launch], [workload], CALIBRATION_SECONDS).throughputs[0]
        found.append((made, launch))
    most, best = max(found, key=lambda one: one[0])
    progress(f"{workload.title} on {len(cores)} cores: {best.label}, {most:.3g} steps/s")
    return best, most


def splits(cores: int, programs: int) -> List[Tuple[int, ...]]:
    """Every way to give each program at least one core, and all cores away; none for more programs
    than cores."""
    found = []
    for cuts in itertools.combinations(range(1, cores), programs - 1):
        edges = (0, *cuts, cores)
        found.append(tuple(b - a for a, b in zip(edges, edges[1:])))
    return found


def ways_by_hand(
    workloads: Sequence[Workload], provider: str, cores: int
) -> Tuple[List[Way], List[Launch], Dict[str, Any]]:
    """All splits as ways, and how each program runs alone at its best."""
    chosen: Dict[str, Any] = {}
    by_count: Dict[Tuple[Workload, int], Launch] = {}
    most = cores - len(workloads) + 1
    for workload in workloads:
        for count in sorted({*range(1, most + 1), cores}):
            if (workload, count) in by_count:
                continue
            launch, made = calibrate(workload, provider, range(count))
            by_count[(workload, count)] = launch
            chosen[f"{workload.title} on {count}"] = {
                "setting": launch.label, "steps_a_second": made,
            }  # fmt: skip
    found = []
    for split in splits(cores, len(workloads)):
        starts, first = [], 0
        for workload, count in zip(workloads, split):
            held = pinned(range(first, first + count))
            starts.append(replace(by_count[(workload, count)], prefix=held))
            first += count
        found.append(Way("split " + "+".join(map(str, split)), tuple(starts)))
    alone = []
    for workload in workloads:
        best = max(
            (count for known, count in by_count if known == workload),
            key=lambda count: chosen[f"{workload.title} on {count}"]["steps_a_second"],
        )
        alone.append(by_count[(workload, best)])
    return found, alone, chosen


# --- the rounds -----------------------------------------------------------------------------


@dataclass
class Results:
    """Weighted speed-up by way, one for each round."""

    speedups: Dict[str, List[float]]
    progress: Dict[str, List[List[float]]]  # of each program

    def mean(self, label: str) -> float:
        return ratios.geometric_mean(self.speedups[label])

    def ratio(self, label: str, to: str) -> ratios.Ratio:
        """How many times as much gets done: throughputs, so the other way round than seconds."""
        return ratios.times_as_fast(self.speedups[label], self.speedups[to])


def measure(
    ways: Sequence[Way], alone: Sequence[Launch], workloads: Sequence[Workload],
    options: argparse.Namespace,
) -> Results:  # fmt: skip
    results = Results({}, {})
    for number in range(options.rounds):
        best = [
            run_together([start], [workload], options.seconds, options.skip).throughputs[0]
            for start, workload in zip(alone, workloads)
        ]
        for way in rotated(ways, number):
            made = run_together(way.starts, workloads, options.seconds, options.skip).throughputs
            shares = [mine / full for mine, full in zip(made, best)]
            results.progress.setdefault(way.label, []).append(shares)
            results.speedups.setdefault(way.label, []).append(max(1e-6, sum(shares)))
            text = " + ".join(f"{share:.2f}" for share in shares)
            progress(f"round {number + 1}/{options.rounds} {way.label}: {text} = {sum(shares):.3f}")
    return results


def table(results: Results, static: Sequence[str]) -> List[str]:
    best = max(static, key=results.mean, default=None)
    width = max(map(len, results.speedups))
    lines = [f"{'':{width}}  weighted speed-up  optile does so many times as much, 95 % interval"]
    for label in sorted(results.speedups, key=results.mean, reverse=True):
        ratio = "" if label == "optile" else str(results.ratio(label, "optile"))
        note = "  <- best static split" if label == best else ""
        lines.append(f"{label:{width}}  {results.mean(label):17.3f}  {ratio}{note}".rstrip())
    return lines


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    workload_run.add_programs_argument(parser)
    parser.add_argument("--blas", required=True)
    parser.add_argument("--rounds", type=workload_run.positive, default=6)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run (default 20)")
    parser.add_argument(
        "--skip", type=float, default=5.0, help="at the start of each run (default 5)"
    )
    parser.add_argument(
        "--prepare", type=float, default=90.0,
        help="seconds under optile together that do not count, in runs of --seconds (default 90)",
    )  # fmt: skip
    parser.add_argument(
        "--splits-only", action="store_true", help="leave out what both get as recommended"
    )
    workload_run.add_python_argument(parser)
    parser.add_argument(
        "--pause", type=float, default=0.0, help="of the first program, in seconds (default: none)"
    )
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(arguments)
    machine = settings.machine_description()
    blas = workload_run.checked_provider(options.blas)
    workloads = [workload_run.workload_in(options.build, *one) for one in options.workloads]
    if options.pause > 0:
        if workloads[0].binary or options.workloads.count(options.workloads[0]) > 1:
            raise RunError("--pause needs a first program in Python that is not among the others")
        workloads[0] = replace(workloads[0], pause=options.pause)
    cores = settings.usable_cores()
    if len(workloads) < 2:
        raise RunError("two programs at least")

    by_hand, alone, chosen = ways_by_hand(workloads, options.blas, cores)
    clean = settings.clean_environment(options.blas)
    recommended = launch_of(settings.recommendation(), options.blas)
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        copy = pathlib.Path(folder, "build")
        digest = copy_build(options.build, copy)
        with PrivateDaemon(copy, pathlib.Path(folder), "together") as daemon:
            words = daemon.prefix([], report=False)
            tuned = Launch("optile", clean, words, blas=options.blas)
            for workload in workloads:
                progress(f"optile: {workload.title} alone")
                run_together([tuned], [workload], options.seconds)
            for number in range(math.ceil(options.prepare / options.seconds)):
                progress(f"optile: preparing, run {number + 1}")
                run_together([tuned] * len(workloads), workloads, options.seconds)
            ways = [*by_hand, Way("optile", (tuned,) * len(workloads))]
            if not options.splits_only:
                ways.insert(0, Way("recommended", (recommended,) * len(workloads)))
            results = measure(ways, alone, workloads, options)
    static = [way.label for way in by_hand]
    workload_run.write_json(options.json, {
        "kind": "together", "workloads": [one.title for one in workloads],
        "pause": options.pause, "blas": blas, "machine": machine, "build": digest,
        "alone": chosen, "speedups": results.speedups, "progress": results.progress,
        "best_split": max(static, key=results.mean, default=None),
    })  # fmt: skip
    print("\n".join(table(results, static)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("together", main))
