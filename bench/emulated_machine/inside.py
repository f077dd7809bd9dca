"""In the machine that emulated_machine.py boots: mixes of described programs side by side, under
optile and under the static splits that are best by the programs' laws."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Sequence, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import settings  # noqa: E402
import together  # noqa: E402
import workload_run  # noqa: E402
from interleaved import rotated  # noqa: E402
from private_daemon import PrivateDaemon, copy_build  # noqa: E402
from workload_run import Launch, Workload, progress  # noqa: E402

from programs import Program, at_best, random_program, recorded_program  # noqa: E402

# Threads that spin would use computing power, which is what this machine has not got.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
BANDWIDTH = pathlib.Path("/sys/module/held_work/parameters/bandwidth")
ALONE_SECONDS = 5.0
ALONE_SKIP = 1.0


@dataclass(frozen=True)
class Held(Workload):
    ops: str = ""  # file

    def command(self, steps: int, warmup: int, own_report: pathlib.Path) -> List[str]:
        words = super().command(steps, warmup, own_report)
        return [words[0], self.ops, *words[1:]]


def pinned(first: int, cores: int, width: int) -> Launch:
    env = {**settings.clean_environment("none"), **PASSIVE, "OMP_NUM_THREADS": str(width)}
    return Launch(f"{width} threads", env, together.pinned(range(first, first + cores)))


def best_splits(
    programs: Sequence[Program], cores: int, bandwidth: float, most: int
) -> List[together.Way]:
    """Those with the greatest sum of progress by the laws, each program at its best width there."""
    alone = [at_best(one, cores, bandwidth)[0] for one in programs]
    known: List[Tuple[float, together.Way]] = []
    for split in together.splits(cores, len(programs)):
        starts, first, total = [], 0, 0.0
        for program, best, count in zip(programs, alone, split):
            seconds, width = at_best(program, count, bandwidth)
            total += best / seconds
            starts.append(pinned(first, count, width))
            first += count
        known.append((total, together.Way("split " + "+".join(map(str, split)), tuple(starts))))
    known.sort(key=lambda one: -one[0])
    return [way for _, way in known[:most]]


def workloads_of(
    programs: Sequence[Program], binary: pathlib.Path, folder: pathlib.Path
) -> List[Held]:
    found = []
    for program in programs:
        file = folder / f"{program.name}.json"
        file.write_text(json.dumps([asdict(op) for op in program.ops]))
        found.append(Held(program.name, binary=binary, ops=str(file)))
    return found


def run_programs(
    programs: Sequence[Program], cores: int, options: argparse.Namespace, folder: pathlib.Path
) -> Dict[str, Any]:
    bandwidth = options.bandwidth
    names = [program.name for program in programs]
    workloads = workloads_of(programs, options.build / "bin" / "held_program", folder)
    alone = []
    for program, workload in zip(programs, workloads):
        law, width = at_best(program, cores, bandwidth)
        start = pinned(0, cores, width)
        made = together.run_together([start], [workload], ALONE_SECONDS, ALONE_SKIP).throughputs[0]
        progress(f"{workload.name} alone: {made:.2f} steps/s, {start.label}; "
                 f"by its laws {1 / law:.2f}")  # fmt: skip
        alone.append(made)
    rivals = best_splits(programs, cores, bandwidth, options.splits)
    results = together.Results({}, {})
    with PrivateDaemon(folder / "build", folder, "emulated_machine", options.daemon) as daemon:
        env = {**settings.clean_environment("none"), **PASSIVE}
        tuned = Launch("optile", env, daemon.prefix([], report=False))
        for workload in workloads:
            together.run_together([tuned], [workload], options.seconds)
        for _ in range(options.prepare):
            together.run_together([tuned] * len(workloads), workloads, options.seconds)
        ways = [*rivals, together.Way("optile", (tuned,) * len(workloads))]
        for number in range(options.rounds):
            for way in rotated(ways, number):
                made = together.run_together(way.starts, workloads, options.seconds, options.skip)
                shares = [mine / full for mine, full in zip(made.throughputs, alone)]
                results.speedups.setdefault(way.label, []).append(max(1e-6, sum(shares)))
                results.progress.setdefault(way.label, []).append(shares)
                text = " + ".join(f"{share:.2f}" for share in shares)
                progress(f"{' '.join(names)} round {number + 1}/{options.rounds} {way.label}: "
                         f"{text} = {sum(shares):.3f}")  # fmt: skip
    best = max((way.label for way in rivals), key=results.mean)
    return {
        "programs": names, "speedups": results.speedups, "progress": results.progress,
        "best_split": best,
    }  # fmt: skip


def mixes(options: argparse.Namespace) -> List[List[Program]]:
    if options.recorded:
        return [[recorded_program(file) for file in files] for files in options.recorded]
    most = options.programs
    return [
        [random_program(number * most + place, options.bandwidth) for place in range(most)]
        for number in range(*options.mixes)
    ]


def main(words: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=int, required=True)
    parser.add_argument("--mixes", type=int, nargs=2, required=True)
    parser.add_argument("--recorded", type=pathlib.Path, nargs="+", action="append", default=[])
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--prepare", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--skip", type=float, required=True)
    parser.add_argument("--splits", type=int, required=True)
    parser.add_argument("--bandwidth", type=float, required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--daemon", nargs=argparse.REMAINDER, default=[])
    options = parser.parse_args(words)
    cores = len(os.sched_getaffinity(0))
    BANDWIDTH.write_text(str(round(1000 * options.bandwidth)))
    found = []
    for programs in mixes(options):
        with tempfile.TemporaryDirectory(prefix="optile-bench-") as text:
            copy_build(options.build, pathlib.Path(text, "build"))
            found.append(run_programs(programs, cores, options, pathlib.Path(text)))
        workload_run.write_json(options.json, {"cores": cores, "mixes": found})
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("inside", main))
