"""Programs that only hold processors: random ones, and such as do what a real one did."""

from __future__ import annotations

import json
import math
import pathlib
import random
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

# Shorter executions are put together: what an annotation costs is emulated, and many times dearer.
SHORTEST_NS = 3e6
PIECES = 10  # of what passes outside ops


@dataclass(frozen=True)
class Op:
    """One execution. Without a name: what passes outside ops, on one thread."""

    name: str
    serial_ns: int
    parallel_ns: int = 0
    memory_ns: int = 0
    per_thread_ns: int = 0

    def seconds(self, width: int, bandwidth: float) -> float:
        """Alone; `bandwidth`: threads that may draw on memory at a time, 0 = any number."""
        drawing = min(width, max(1.0, bandwidth)) if bandwidth > 0 else width
        ns = self.serial_ns + self.parallel_ns / width + self.memory_ns / drawing
        return 1e-9 * (ns + self.per_thread_ns * width)


@dataclass(frozen=True)
class Program:
    name: str
    ops: List[Op]


def random_program(seed: int, bandwidth: float) -> Program:
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
    return Program(f"held{seed}", ops)


def seconds_by_width(instance: Mapping[str, Any]) -> List[float]:
    times = instance["times"]
    return [float(times["spread"][0]), *map(float, times["compact"][1:])]


def law_of(name: str, ns: Sequence[float]) -> Op:
    """The law through the times on one thread and on all that were seen. What was seen to scale
    better than its threads is held to scale as well as them."""
    one, width = ns[0], len(ns)
    if width == 1:
        return Op(name, round(one))
    lost = ns[-1] - one  # by more threads
    if lost >= 0:
        per_thread = min(one, lost / (width - 1))
        return Op(name, round(one - per_thread), 0, 0, round(per_thread))
    parallel = min(one, -lost * width / (width - 1))
    return Op(name, round(one - parallel), round(parallel))


def recorded_program(file: pathlib.Path) -> Program:
    """From the step graph that against_life.py --graph leaves behind: each op with its shape as
    often and as long as it was, but gathered into executions of SHORTEST_NS at least."""
    graph = json.loads(file.read_text(encoding="utf-8"))
    counts = [0] * len(graph["instances"])
    for node in graph["nodes"]:
        counts[int(node["instance"])] += 1
    outside = 0.0
    totals: Dict[str, List[float]] = {}
    executions: Dict[str, int] = {}

    def add(name: str, count: int, times: Sequence[float]) -> None:
        known = totals.setdefault(name, [0.0] * len(times))
        totals[name] = [a + b for a, b in zip(known, times)]
        executions[name] = executions.get(name, 0) + count

    for instance, count in zip(graph["instances"], counts):
        times = [1e9 * count * one for one in seconds_by_width(instance)]
        if not instance.get("tunable", True):
            outside += times[0]
            continue
        long = times[0] >= SHORTEST_NS
        shape = f" {instance['shape']}" if long and instance.get("shape") else ""
        add(instance["op"] + shape, count, times)
    for name in [name for name, times in totals.items() if times[0] < SHORTEST_NS]:
        add("other ops", executions.pop(name), totals.pop(name))
    placed: List[Tuple[float, Op]] = [
        ((piece + 0.5) / PIECES, Op("", round(outside / PIECES))) for piece in range(PIECES)
    ]
    for name, times in totals.items():
        count = max(1, min(executions[name], int(times[0] / SHORTEST_NS)))
        op = law_of(name, [one / count for one in times])
        placed += [((number + 0.5) / count, op) for number in range(count)]
    placed.sort(key=lambda one: (one[0], one[1].name))
    return Program(file.stem, [op for _, op in placed])


def at_best(program: Program, cores: int, bandwidth: float) -> Tuple[float, int]:
    """Seconds of a step at the best uniform width on so many cores, and that width."""
    return min(
        (sum(op.seconds(width, bandwidth) for op in program.ops), width)
        for width in range(1, cores + 1)
    )
