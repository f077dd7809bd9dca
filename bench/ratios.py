"""How many times as fast, and how sure: ratios of paired rounds with bootstrap intervals. Pure.

A round runs every form once, close together in time, so that what the machine does to one it does
to all; the ratio is taken inside the round and only then averaged. Averages are geometric, because
a gain of two and a loss of two must cancel out.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple

RESAMPLES = 4000
CONFIDENCE = 0.95
SEED = 1  # the same rounds always give the same interval


def _text(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.3g}"


@dataclass(frozen=True)
class Ratio:
    """A geometric mean with its interval; over one round the interval says nothing (low = high)."""

    value: float
    low: float
    high: float
    rounds: int

    def __str__(self) -> str:
        return f"{_text(self.value)} [{_text(self.low)}, {_text(self.high)}]"

    def as_json(self) -> Dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "rounds": self.rounds}


def log_ratios(before: Sequence[float], after: Sequence[float]) -> List[float]:
    """Of each round that has both; > 0 where `after` took less time."""
    return [math.log(b / a) for b, a in zip(before, after) if a > 0 and b > 0]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


Statistic = Callable[[Sequence[Sequence[float]]], float]


def interval(groups: Sequence[Sequence[float]], statistic: Statistic) -> Tuple[float, float]:
    """What holds CONFIDENCE of a statistic where the values of each group are drawn anew. By hand
    and not scipy's: many_cores measures on machines that have Python and PyTorch alone."""
    source = random.Random(SEED)
    found = sorted(
        statistic([source.choices(group, k=len(group)) for group in groups])
        for _ in range(RESAMPLES)
    )
    outside = (1 - CONFIDENCE) / 2
    return found[int(outside * RESAMPLES)], found[int((1 - outside) * RESAMPLES)]


def times_as_fast(before: Sequence[float], after: Sequence[float]) -> Ratio:
    """Seconds of the same rounds under two forms: how many times as fast is the second."""
    return pooled([log_ratios(before, after)])


def pooled(groups: Sequence[Sequence[float]]) -> Ratio:
    """Geometric mean over groups (programs) of their log ratios, each group weighing the same.
    Rounds are drawn anew inside each group; the groups are all there is, so they are not drawn."""
    if not groups or not all(groups):
        raise ValueError("no ratio without at least one round of both")
    low, high = interval(groups, lambda drawn: _mean([_mean(group) for group in drawn]))
    value = _mean([_mean(group) for group in groups])
    return Ratio(math.exp(value), math.exp(low), math.exp(high), min(map(len, groups)))


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(_mean([math.log(value) for value in values]))
