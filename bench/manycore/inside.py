"""In the machine that manycore.py boots: companies of described programs side by side, under optile
and under the static splits that are best by the programs' laws."""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import random
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

# Threads that spin would use computing power, which is what this machine has not got.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
BANDWIDTH = pathlib.Path("/sys/module/held_work/parameters/bandwidth")
ALONE_SECONDS = 5.0
ALONE_SKIP = 1.0


@dataclass(frozen=True)
class Op:
    name: str
    serial_ns: int
    parallel_ns: int
    memory_ns: int
    per_thread_ns: int

    def seconds(self, width: int, bandwidth: float) -> float:
        """Alone; `bandwidth`: threads that may draw on memory at a time, 0 = any number."""
        drawing = min(width, max(1.0, bandwidth)) if bandwidth > 0 else width
        ns = self.serial_ns + self.parallel_ns / width + self.memory_ns / drawing
        return 1e-9 * (ns + self.per_thread_ns * width)


def random_program(seed: int, bandwidth: float) -> List[Op]:
    """A step of 5 to 15 ops, of 3 to 60 ms each on one thread. Programs differ in how much of them
    is serial, in what a thread costs, and where memory has an end in how much they draw on it."""
    draw = random.Random(seed)
    memory_up_to = random.Random(seed + 1000).choice([0.0, 0.5, 1.0]) if bandwidth > 0 else 0.0
    serial_up_to = draw.choice([0.05, 0.2, 0.5, 0.9])
    per_thread_up_to = draw.choice([0.0, 0.005, 0.03])
    ops = []
    for number in range(draw.randint(5, 15)):
        whole = 3e6 * math.exp(draw.random() * math.log(20))
        serial = whole * serial_up_to * draw.random()
        per_thread = whole * per_thread_up_to * draw.random()
        memory = (whole - serial) * memory_up_to * draw.random() if memory_up_to > 0 else 0
        ops.append(Op(f"op{number}", round(serial), round(whole - serial - memory), round(memory),
                      round(per_thread)))  # fmt: skip
    return ops


def at_best(ops: Sequence[Op], cores: int, bandwidth: float) -> Tuple[float, int]:
    """Seconds of a step at the best uniform width on so many cores, and that width."""
    return min(
        (sum(op.seconds(width, bandwidth) for op in ops), width) for width in range(1, cores + 1)
    )


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
    programs: Sequence[List[Op]], cores: int, bandwidth: float, most: int
) -> List[together.Way]:
    """Those with the greatest sum of progress by the laws, each program at its best width there."""
    alone = [at_best(ops, cores, bandwidth)[0] for ops in programs]
    known: List[Tuple[float, together.Way]] = []
    for split in together.splits(cores, len(programs)):
        starts, first, total = [], 0, 0.0
        for ops, best, count in zip(programs, alone, split):
            seconds, width = at_best(ops, count, bandwidth)
            total += best / seconds
            starts.append(pinned(first, count, width))
            first += count
        known.append((total, together.Way("split " + "+".join(map(str, split)), tuple(starts))))
    known.sort(key=lambda one: -one[0])
    return [way for _, way in known[:most]]


def workloads_of(
    seeds: Sequence[int], programs: Sequence[List[Op]], program: pathlib.Path, folder: pathlib.Path
) -> List[Held]:
    found = []
    for seed, ops in zip(seeds, programs):
        file = folder / f"ops{seed}.json"
        file.write_text(json.dumps([asdict(op) for op in ops]))
        found.append(Held(f"held{seed}", binary=program, ops=str(file)))
    return found


def run_company(
    seeds: Sequence[int], cores: int, options: argparse.Namespace, folder: pathlib.Path
) -> Dict[str, Any]:
    bandwidth = options.bandwidth
    programs = [random_program(seed, bandwidth) for seed in seeds]
    workloads = workloads_of(seeds, programs, options.build / "bin" / "held_program", folder)
    alone = []
    for ops, workload in zip(programs, workloads):
        law, width = at_best(ops, cores, bandwidth)
        start = pinned(0, cores, width)
        made = together.run_together([start], [workload], ALONE_SECONDS, ALONE_SKIP).throughputs[0]
        progress(f"{workload.name} alone: {made:.2f} steps/s, {start.label}; "
                 f"by its laws {1 / law:.2f}")  # fmt: skip
        alone.append(made)
    rivals = best_splits(programs, cores, bandwidth, options.splits)
    results = together.Results({}, {})
    with PrivateDaemon(folder / "build", folder, "manycore", options.daemon) as daemon:
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
                progress(f"{list(seeds)} round {number + 1}/{options.rounds} {way.label}: {text} "
                         f"= {sum(shares):.3f}")  # fmt: skip
    best = max((way.label for way in rivals), key=results.mean)
    return {
        "programs": list(seeds), "speedups": results.speedups, "progress": results.progress,
        "best_split": best,
    }  # fmt: skip


def main(words: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=int, required=True)
    parser.add_argument("--companies", type=int, nargs=2, required=True)
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
    for company in range(*options.companies):
        seeds = [company * options.programs + place for place in range(options.programs)]
        with tempfile.TemporaryDirectory(prefix="optile-bench-") as text:
            copy_build(options.build, pathlib.Path(text, "build"))
            found.append(run_company(seeds, cores, options, pathlib.Path(text)))
        workload_run.write_json(options.json, {"cores": cores, "companies": found})
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("inside", main))
