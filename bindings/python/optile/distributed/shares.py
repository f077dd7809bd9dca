"""How the rows of a batch are divided between ranks, corrected while they run. Pure.

Every rank has a controller and gives it the same measurements, so that all decide alike without a
leader. A change is tried where it promises enough, and taken back where little of that came true.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional, Sequence


@dataclass(frozen=True)
class Window:
    """A few steps under the same shares, as all ranks saw them."""

    rows: Sequence[int]  # of each rank, in a step
    row_seconds: Sequence[float]  # each rank's computing, for one row
    step_seconds: float  # of the slowest rank


@dataclass
class Change:
    """Shares that were tried."""

    step: int
    before: Sequence[float]
    after: Sequence[float]
    predicted: float  # how many times as fast
    measured: Optional[float] = None  # None: not measured yet
    kept: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Thresholds:
    least_gain: float = 1.05  # predicted, for a change
    least_part: float = 0.25  # of the predicted gain, measured, or it is taken back
    pause: int = 4  # windows without a change behind one that was taken back; doubles each time


def divide(shares: Sequence[float], batch: int) -> List[int]:
    """Whole rows by the largest remainders, one at least for each rank."""
    ranks = len(shares)
    if batch < ranks:
        raise ValueError(f"a batch of {batch} rows cannot be divided between {ranks} ranks")
    whole = sum(shares)
    wanted = [(batch - ranks) * share / whole for share in shares]
    rows = [1 + int(one) for one in wanted]
    by_rest = sorted(range(ranks), key=lambda rank: (int(wanted[rank]) - wanted[rank], rank))
    for rank in by_rest[: batch - sum(rows)]:
        rows[rank] += 1
    return rows


@dataclass
class ShareController:
    ranks: int
    thresholds: Thresholds = field(default_factory=Thresholds)
    changes: List[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shares: List[float] = [1 / self.ranks] * self.ranks
        self._tried: Optional[Change] = None
        self._seconds_before = 0.0
        self._waits = 0
        self._taken_back = 0

    def add(self, window: Window, step: int) -> bool:
        """A window has ended with that step. True: other shares are in force from the next one."""
        if self._tried is not None:
            return self._judge(self._tried, window)
        if self._waits > 0:
            self._waits -= 1
            return False
        speeds = [1 / seconds for seconds in window.row_seconds]
        shares = [speed / sum(speeds) for speed in speeds]
        after = self._longest(divide(shares, sum(window.rows)), window)
        predicted = self._longest(window.rows, window) / after
        if predicted < self.thresholds.least_gain:
            return False
        self._tried = Change(step, self.shares, shares, predicted)
        self._seconds_before = window.step_seconds
        self.changes.append(self._tried)
        self.shares = shares
        return True

    @staticmethod
    def _longest(rows: Sequence[int], window: Window) -> float:
        return max(count * seconds for count, seconds in zip(rows, window.row_seconds))

    def _judge(self, change: Change, window: Window) -> bool:
        self._tried = None
        change.measured = self._seconds_before / window.step_seconds
        if change.measured >= 1 + (change.predicted - 1) * self.thresholds.least_part:
            return False
        change.kept = False
        change.reason = (
            f"steps were {change.measured:.2f} times as fast and not {change.predicted:.2f}"
        )
        self._waits = self.thresholds.pause << min(self._taken_back, 6)
        self._taken_back += 1
        self.shares = list(change.before)
        return True
