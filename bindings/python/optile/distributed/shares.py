"""How the rows of a batch are divided between ranks, corrected while they run. Pure.

Every rank has a controller and gives it the same measurements, so that all decide alike without a
leader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence

from .changes import Change, Trials


@dataclass(frozen=True)
class Window:
    """A few steps under the same shares, as all ranks saw them."""

    rows: Sequence[int]  # of each rank, in a step
    row_seconds: Sequence[float]  # each rank's computing, for one row
    step_seconds: float  # of the slowest rank


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


class ShareController:
    def __init__(self, ranks: int) -> None:
        self.shares: List[float] = [1 / ranks] * ranks
        self._trials = Trials()

    @property
    def changes(self) -> List[Change]:
        return self._trials.changes

    def add(self, window: Window, step: int) -> bool:
        """A window has ended with that step. True: other shares are in force from the next one."""
        if self._trials.trying:
            lost = self._trials.judge(window.step_seconds)
            if lost is not None:
                self.shares = list(lost.before)
            return lost is not None
        if self._trials.paused():
            return False
        speeds = [1 / seconds for seconds in window.row_seconds]
        shares = [speed / sum(speeds) for speed in speeds]
        after = self._longest(divide(shares, sum(window.rows)), window)
        predicted = self._longest(window.rows, window) / after
        change = Change(step, self.shares, shares, predicted)
        if not self._trials.begin(change, window.step_seconds):
            return False
        self.shares = shares
        return True

    @staticmethod
    def _longest(rows: Sequence[int], window: Window) -> float:
        return max(count * seconds for count, seconds in zip(rows, window.row_seconds))
