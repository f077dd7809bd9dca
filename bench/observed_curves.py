"""What each op of a workload takes at every width, from runs at uniform widths that are observed.

A tuned run tries a width a few times, beside ops at other widths; that is enough to choose by, but
not to predict by. Here nothing is tried: each run has one width for everything, and optile only
listens. Runs at different widths alternate, so that a machine whose pace drifts does not bend a
curve.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import statistics
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Sequence

import interleaved
import workload_run
from private_daemon import PrivateDaemon
from workload_run import Launch, RunError, Workload, progress

WORDS = ("--mode", "observe", "--respect", "exact")

Json = Dict[str, Any]
Reports = Dict[int, List[Json]]  # by width, a report a round


def explanations(reports: Mapping[int, Sequence[Mapping[str, Any]]]) -> List[Json]:
    """Ops that were seen at the widest setting, as `explain` says.

    Over the rounds it is the geometric mean of their medians, as the ratios that are compared with
    are: a run may have a pace of its own, and then a median over few runs is that of some of them.
    """
    widest = max(reports)
    found: Dict[str, Json] = {}
    seconds: Dict[str, Dict[int, List[float]]] = {}
    for width, rounds in reports.items():
        for report in rounds:
            for op in report["ops"]:
                if op.get("own_seconds") and op.get("per_step"):
                    # A report has them of all its executions in a step.
                    once = float(op["own_seconds"]) / int(op["per_step"])
                    seconds.setdefault(op["id"], {}).setdefault(width, []).append(once)
                    if width == widest:
                        found.setdefault(op["id"], op)
    return [
        {
            "id": key, "name": op["name"], "shape": op.get("shape"), "default_width": widest,
            "per_step": op["per_step"],
            "curve": [
                {"kind": "sampled", "width": width, "count": len(times),
                 "median_ns": statistics.geometric_mean(times) * 1e9}
                for width, times in sorted(seconds[key].items())
            ],
        }
        for key, op in found.items()
    ]  # fmt: skip


@dataclass(frozen=True)
class Beyond:
    """What a step takes beyond the medians of its ops.

    An op's time has a tail, so a step takes more than the sum of medians: `stretch` times as much.
    `rest` seconds pass outside ops, at any width.
    """

    stretch: float
    rest: float


def beyond(sums: Mapping[int, float], steps: Mapping[int, float]) -> Beyond:
    """The line through (sum of medians, median step) of the widths, by least squares."""
    x, y = [sums[width] for width in sums], [steps[width] for width in sums]
    middle, level = statistics.fmean(x), statistics.fmean(y)
    spread = sum((one - middle) ** 2 for one in x)
    slope = sum((a - middle) * (b - level) for a, b in zip(x, y)) / spread if spread > 0 else 1.0
    stretch = max(slope, 1.0)
    if level >= stretch * middle:
        return Beyond(stretch, level - stretch * middle)
    # Nothing is left for what is outside ops: the line through the origin.
    return Beyond(sum(a * b for a, b in zip(x, y)) / sum(a * a for a in x), 0.0)


def summed(explained: Sequence[Mapping[str, Any]], width: int) -> float:
    """Seconds of a step's ops at one width, those not seen at it at their own."""
    total = 0.0
    for one in explained:
        times = {int(point["width"]): float(point["median_ns"]) for point in one["curve"]}
        total += int(one["per_step"]) * times.get(width, times[int(one["default_width"])]) * 1e-9
    return total


def stretched(explained: Sequence[Mapping[str, Any]], by: float) -> List[Json]:
    return [
        {**one, "curve": [{**at, "median_ns": at["median_ns"] * by} for at in one["curve"]]}
        for one in explained
    ]


def step_seconds(reports: Sequence[Mapping[str, Any]]) -> float:
    """Of one width."""
    steps = [(one.get("step_seconds") or {}).get("baseline") for one in reports]
    known = [float(one) for one in steps if one]
    if not known:
        raise RunError("no step was recognised in the observed runs: give more --observe-seconds")
    return statistics.geometric_mean(known)


def observe(
    ways: Mapping[int, Launch], workload: Workload, lengths: Mapping[str, interleaved.Length],
    folder: pathlib.Path, rounds: int,
) -> Reports:  # fmt: skip
    """Each width has a daemon of its own, which knows of no other width."""
    reports: Reports = {width: [] for width in ways}
    with contextlib.ExitStack() as stack:
        daemons = {
            width: stack.enter_context(PrivateDaemon(folder / "build", folder, f"observe{width}"))
            for width in ways
        }
        for number in range(rounds):
            for width, way in interleaved.rotated(list(ways.items()), number):
                daemon, length = daemons[width], lengths[way.label]
                launch = replace(way, prefix=daemon.prefix(WORDS), report=daemon.report)
                run = workload_run.run(launch, workload, length.steps, length.warmup)
                reports[width].append(json.loads(daemon.report.read_text(encoding="utf-8")))
                progress(
                    f"observed {number + 1}/{rounds}, {way.label}: {run.median * 1e3:.4g} ms a step"
                )
    return reports
