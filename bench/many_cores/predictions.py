"""How near a tuned run's curves come to what its ops take at every width. Pure.

A point of a curve is sampled, or predicted from others: between two of them, or beyond all. What is
seen are medians of runs that have one width for everything.
"""

from __future__ import annotations

import statistics
from typing import Any, Dict, List, Mapping, Sequence

Json = Dict[str, Any]
Curves = Dict[str, Dict[int, float]]  # nanoseconds of an op by width


def curves(explained: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> Curves:
    """By the ops' ids, of points of these kinds."""
    found = {}
    for one in explained:
        points = {
            int(at["width"]): float(at["median_ns"])
            for at in one.get("curve") or []
            if at.get("kind") in kinds and at.get("median_ns")
        }
        if points:
            found[str(one["id"])] = points
    return found


def _errors(told: Curves, seen: Curves) -> List[float]:
    """|told / seen - 1| of each op and width that both know."""
    return [
        abs(at / seen[op][width] - 1)
        for op, points in told.items()
        for width, at in points.items()
        if width in seen.get(op, {})
    ]


def _summary(errors: Sequence[float]) -> Json:
    ordered = sorted(errors)
    if not ordered:
        return {"count": 0, "median": None, "ninth_of_ten": None}
    return {
        "count": len(ordered), "median": statistics.median(ordered),
        "ninth_of_ten": ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)],
    }  # fmt: skip


def compare(explained: Sequence[Mapping[str, Any]], seen: Sequence[Mapping[str, Any]]) -> Json:
    """`loss`: time of a step's ops at the widths that were chosen, over that at the best widths
    that were seen; 1.0 is a perfect choice."""
    real = curves(seen, ("sampled",))
    counts = {str(one["id"]): int(one.get("per_step") or 0) for one in seen}
    chosen = best = 0.0
    ops = 0
    for one in explained:
        points, width = real.get(str(one["id"])), int(one.get("width") or 0)
        if points and width in points:
            ops += 1
            chosen += counts[str(one["id"])] * points[width]
            best += counts[str(one["id"])] * min(points.values())
    return {
        "ops": ops,
        "loss": chosen / best if best > 0 else None,
        "sampled": _summary(_errors(curves(explained, ("sampled",)), real)),
        "predicted": _summary(
            _errors(curves(explained, ("interpolated", "extrapolated")), real)
        ),
    }


def percent(value: Any) -> str:
    return "unknown" if value is None else f"{value:.0%}"


def line(found: Mapping[str, Any]) -> str:
    loss = "unknown" if found["loss"] is None else f"{found['loss']:.3f}"
    told, sampled = found["predicted"], found["sampled"]
    return (
        f"{found['ops']} ops at their chosen widths take {loss} times as long as at the best; "
        f"predicted points are off by {percent(told['median'])} in the median (n "
        f"{told['count']}), sampled ones by {percent(sampled['median'])} (n {sampled['count']})"
    )
