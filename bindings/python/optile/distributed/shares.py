"""How the rows of a batch are divided between ranks, corrected while they run. Pure.

Every rank has a controller and gives it the same measurements, so that all decide alike without a
leader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence

from .changes import Change, Trials
from .plan_asking import Verdict
from .plan_record import PlanInForce, RankTimes


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
        self._trials = Trials(ranks)
        self._window: Optional[Window] = None  # the last one
        self._measured_seconds: Optional[float] = None  # of a step, with the shares in force
        self._predicted_seconds: Optional[float] = None  # of a step, where a change promised it
        self._predicted_before: Optional[float] = None

    @property
    def changes(self) -> List[Change]:
        return self._trials.changes

    @property
    def in_force(self) -> PlanInForce:
        return PlanInForce(
            self.shares, predicted_seconds=self._predicted_seconds,
            measured_seconds=self._measured_seconds,
        )  # fmt: skip

    def rank_times(self) -> List[RankTimes]:
        """Of the forward pass, as the last window measured it: beside that of the slowest rank,
        since in the backward pass each waits for the slowest. Empty: not yet."""
        window = self._window
        if window is None:
            return []
        longest = self._longest(window.rows, window.row_seconds)
        batch = sum(window.rows)
        return [RankTimes(rows * seconds, rows * seconds / longest, batch * seconds)
                for rows, seconds in zip(window.rows, window.row_seconds)]  # fmt: skip

    @property
    def proposed(self) -> Optional[Change]:
        return self._trials.proposed

    def add(self, window: Window, step: int, verdict: Verdict = Verdict.ALONE) -> bool:
        """A window has ended with that step. True: other shares are in force from the next one."""
        self._window, self._measured_seconds = window, window.step_seconds
        lost = self._trials.add(window.row_seconds, [(one,) for one in window.row_seconds],
                                window.step_seconds)  # fmt: skip
        if lost is not None:
            self.shares = list(lost.before)
            self._predicted_seconds, self._measured_seconds = self._predicted_before, None
            return True
        if (agreed := self._trials.settle(verdict, step)) is not None:
            return self._switch(agreed)
        may = self._trials.may_begin and verdict.may_propose
        return may and self._change(step, window.rows, verdict)

    def _change(self, step: int, rows: Sequence[int], verdict: Verdict) -> bool:
        row_seconds = [one for (one,) in self._trials.speeds.averages]
        speeds = [1 / seconds for seconds in row_seconds]
        shares = [speed / sum(speeds) for speed in speeds]
        before = self._longest(rows, row_seconds)
        after = self._longest(divide(shares, sum(rows)), row_seconds)
        change = Change(step, self.shares, shares, before / after)
        change.whole_seconds = [sum(rows) * one for one in row_seconds]
        return self._trials.begin(change, verdict) and self._switch(change)

    def _switch(self, change: Change) -> bool:
        assert self._measured_seconds is not None
        self._predicted_before = self._predicted_seconds
        self._predicted_seconds = self._measured_seconds / change.predicted
        self._measured_seconds = None
        self.shares = change.after
        return True

    @staticmethod
    def _longest(rows: Sequence[int], row_seconds: Sequence[float]) -> float:
        return max(count * seconds for count, seconds in zip(rows, row_seconds))
