"""What a perfect choice of width per op would allow, from the curves of a first run. Pure.

Sums over the ops of a step: at the program's default width, at the best single width, and with each
op at the width that measured best. The last is an upper bound and not a goal: the best of several
noisy medians is too good to be true, and changing the width between ops costs something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

# A case with fewer samples says nothing.
LEAST_SAMPLES = 2


@dataclass(frozen=True)
class Oracle:
    """Seconds of one step; `rest` is what no op explains and no width changes."""

    ops: int  # places with a curve
    curves: int  # of them those with at least two measured widths
    own_seconds: float
    uniform_seconds: float
    uniform_width: int
    best_seconds: float
    rest_seconds: float

    def times_over_own(self) -> float:
        return (self.rest_seconds + self.own_seconds) / (self.rest_seconds + self.best_seconds)

    def times_over_uniform(self) -> float:
        return (self.rest_seconds + self.uniform_seconds) / (self.rest_seconds + self.best_seconds)

    def as_json(self) -> Dict[str, Any]:
        return {
            "ops": self.ops,
            "curves": self.curves,
            "own_seconds": self.own_seconds,
            "uniform_seconds": self.uniform_seconds,
            "uniform_width": self.uniform_width,
            "best_seconds": self.best_seconds,
            "rest_seconds": self.rest_seconds,
            "times_over_own": self.times_over_own(),
            "times_over_uniform": self.times_over_uniform(),
        }


def measured_times(explanation: Mapping[str, Any]) -> Dict[int, float]:
    """Width -> seconds of one execution, the better binding of each, measured ones only."""
    times: Dict[int, float] = {}
    for point in explanation.get("curve", []):
        if point.get("kind") != "sampled" or int(point.get("count") or 0) < LEAST_SAMPLES:
            continue
        width, seconds = int(point["width"]), float(point["median_ns"]) * 1e-9
        if seconds > 0:
            times[width] = min(seconds, times.get(width, math.inf))
    return times


def _at(times: Mapping[int, float], width: int, own: int) -> float:
    """Where a width was not measured the op keeps its own there."""
    return times.get(width, times[own])


def compute(
    explanations: Sequence[Mapping[str, Any]], step_seconds: Optional[float]
) -> Optional[Oracle]:
    """None where no op has a curve that contains its default width."""
    rows: List[Dict[str, Any]] = []
    for one in explanations:
        times = measured_times(one)
        own = int(one.get("default_width") or 0)
        if own in times:
            rows.append({"times": times, "own": own, "count": int(one.get("per_step") or 0)})
    if not rows:
        return None

    def total(width: Optional[int]) -> float:
        return sum(
            row["count"] * _at(row["times"], width or row["own"], row["own"]) for row in rows
        )

    widths = sorted({width for row in rows for width in row["times"]})
    uniform = min(widths, key=total)
    own_seconds = total(None)
    return Oracle(
        ops=len(rows),
        curves=sum(1 for row in rows if len(row["times"]) > 1),
        own_seconds=own_seconds,
        uniform_seconds=total(uniform),
        uniform_width=uniform,
        best_seconds=sum(row["count"] * min(row["times"].values()) for row in rows),
        rest_seconds=max(0.0, (step_seconds or own_seconds) - own_seconds),
    )


def lines(oracle: Optional[Oracle]) -> List[str]:
    if oracle is None:
        return ["per-op oracle: no op was measured at its default width and another one"]
    return [
        f"per-op oracle over {oracle.ops} ops, {oracle.curves} of them with curves:",
        f"  default widths {oracle.own_seconds * 1e3:.4g} ms, width {oracle.uniform_width} for all "
        f"{oracle.uniform_seconds * 1e3:.4g} ms, each op's best "
        f"{oracle.best_seconds * 1e3:.4g} ms, and {oracle.rest_seconds * 1e3:.4g} ms in no op",
        f"  a whole step at most {oracle.times_over_own():.3f} times as fast as at default widths, "
        f"{oracle.times_over_uniform():.3f} times as at the best single width",
    ]
