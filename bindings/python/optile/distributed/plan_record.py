"""What a job tells of its plan, as the daemon takes it (docs/reference/openapi.yaml). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from .changes import Change
from .placements import Placement
from .stages import Plan

MOST_CHANGES = 8  # the latest ones
MOST_RANKS = 100  # the daemon takes no more
_MOST_REASON = 256


@dataclass(frozen=True)
class SplitsInForce:
    """Layers divided over ranks."""

    parameter_parts: Sequence[float]  # of the model's, that each rank holds


@dataclass(frozen=True)
class RankTimes:
    """What the last steps measured of a rank."""

    busy_seconds: float  # it computes so long in a step
    busy: float  # 0 to 1: that, of what the job waits for
    whole_seconds: float  # it would take so long for what all ranks do


def rank_times(
    busy_seconds: Sequence[float], step_seconds: float, whole_seconds: Sequence[float]
) -> List[RankTimes]:
    """Of all ranks, in steps that take so long."""
    return [RankTimes(busy, busy / max(step_seconds, 1e-12), whole)
            for busy, whole in zip(busy_seconds, whole_seconds)]  # fmt: skip


def _rounded(number: Optional[float]) -> Optional[float]:
    return None if number is None else float(f"{number:.6g}")


def _kind(plan: Any) -> str:
    if isinstance(plan, Placement):
        return "placement"
    if isinstance(plan, SplitsInForce):
        return "splits"
    return "pipeline" if isinstance(plan, Plan) else "shares"


def _division(plan: Any, layers: int, ranks: int, replicas: int) -> Dict[str, Any]:
    """`ranks`: of all replicas, which have the same parts."""
    places = range(ranks // replicas)
    if isinstance(plan, Placement):
        parts = [float(plan.owners.count(rank)) for rank in places] * replicas
        return {"parts": parts, "micro_batches": 0}
    if isinstance(plan, Plan):
        parts = [float(len(plan.layers_of(rank, layers))) for rank in places] * replicas
        return {"parts": parts, "micro_batches": plan.micro_batches}
    shares = plan.parameter_parts if isinstance(plan, SplitsInForce) else plan
    return {"parts": [_rounded(share) for share in shares], "micro_batches": 0}


def _change(change: Change, ranks: int, layers: int, replicas: int) -> Dict[str, Any]:
    seconds = list(change.whole_seconds) * (replicas if ranks > len(change.whole_seconds) else 1)
    seconds = seconds or [0.0] * ranks
    return {
        "step": change.step,
        "before": _division(change.before, layers, ranks, replicas),
        "after": _division(change.after, layers, ranks, replicas),
        "whole_seconds": [_rounded(one) for one in seconds],
        "predicted": _rounded(change.predicted),
        "measured": _rounded(change.measured),
        "kept": change.kept,
        "reason": change.reason[:_MOST_REASON],
    }


@dataclass
class PlanInForce:
    """Since when, and what it is."""

    plan: Any  # a Plan, a Placement, SplitsInForce, or the share of each rank
    layers: int = 0  # of a pipeline's model
    schedule: str = ""
    predicted_seconds: Optional[float] = None
    measured_seconds: Optional[float] = None  # None: no steps under it were measured yet
    replicas: int = 1  # each of which divides the model so


def plan_record(
    named: Dict[str, Any], in_force: PlanInForce, nodes: Sequence[str],
    times: Sequence[RankTimes], changes: Sequence[Change],
) -> Dict[str, Any]:  # fmt: skip
    """`named`: job, run, epoch, step, since_step and choice; `times`: of each rank, or of none
    yet."""
    replicas = in_force.replicas
    division = _division(in_force.plan, in_force.layers, len(nodes), replicas)
    ranks: List[Dict[str, Any]] = []
    for rank, (node, part) in enumerate(zip(nodes, division["parts"])):
        measured = times[rank] if times else None
        # Under another plan it did something else.
        lately = measured if in_force.measured_seconds is not None else None
        ranks.append({
            "node": node,
            "part": part,
            "busy_seconds": _rounded(lately.busy_seconds) if lately else None,
            "busy": _rounded(min(1.0, lately.busy)) if lately else None,
            "whole_seconds": _rounded(measured.whole_seconds) if measured else None,
        })  # fmt: skip
    latest = list(changes)[-MOST_CHANGES:]
    return {
        **named,
        "kind": _kind(in_force.plan),
        "schedule": in_force.schedule,
        "micro_batches": division["micro_batches"],
        "replicas": replicas,
        "predicted_seconds": _rounded(in_force.predicted_seconds),
        "measured_seconds": _rounded(in_force.measured_seconds),
        "ranks": ranks,
        "changes": [_change(one, len(nodes), in_force.layers, replicas) for one in latest],
    }
