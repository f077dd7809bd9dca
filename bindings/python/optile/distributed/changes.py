"""Changes of how ranks divide their work: tried where they promise enough, and taken back where
little of that came true. Pure.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any, List, Optional, Sequence


@dataclass
class Change:
    """What was tried in the place of what."""

    step: int
    before: Any
    after: Any
    predicted: float  # how many times as fast
    measured: Optional[float] = None  # None: not measured yet
    kept: bool = True
    reason: str = ""
    # What each rank, as fast as it was then, would have taken for all of the work.
    whole_seconds: List[float] = field(default_factory=list)


@dataclass(frozen=True)
class Thresholds:
    least_gain: float = 1.05  # predicted, for a change
    least_part: float = 0.25  # of the predicted gain, measured, or it is taken back
    pause: int = 4  # windows without a change behind one that was taken back; doubles each time


@dataclass
class Trials:
    """One change after the other, each judged by the window of a few steps behind it."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    changes: List[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tried: Optional[Change] = None
        self._seconds_before = 0.0
        self._waits = 0
        self._taken_back = 0

    @property
    def trying(self) -> bool:
        return self._tried is not None

    def paused(self) -> bool:
        """Once for each window in which nothing is tried. True: nothing may be."""
        if self._waits == 0:
            return False
        self._waits -= 1
        return True

    def begin(self, change: Change, step_seconds: float) -> bool:
        """`step_seconds`: under what it replaces. False: it promises too little to be tried."""
        if change.predicted < self.thresholds.least_gain:
            return False
        self._tried = change
        self._seconds_before = step_seconds
        self.changes.append(change)
        return True

    def judge(self, step_seconds: float) -> Optional[Change]:
        """The change that was tried, where it has to be taken back."""
        change, self._tried = self._tried, None
        assert change is not None
        change.measured = self._seconds_before / step_seconds
        if change.measured >= 1 + (change.predicted - 1) * self.thresholds.least_part:
            return None
        change.kept = False
        change.reason = (
            f"steps were {change.measured:.2f} times as fast and not {change.predicted:.2f}"
        )
        self._waits = self.thresholds.pause << min(self._taken_back, 6)
        self._taken_back += 1
        return change


class WindowMedians:
    """Collects numbers of steps, until a window of them is whole."""

    STEPS = 8
    UNTIMED = 2  # first ones of a window: other shapes, other memory

    def __init__(self) -> None:
        self._steps: List[Sequence[float]] = []

    def add(self, step: Sequence[float]) -> Optional[List[float]]:
        """The median of each number, where the window ends with this step."""
        self._steps.append(step)
        if len(self._steps) < self.STEPS + self.UNTIMED:
            return None
        timed, self._steps = self._steps[self.UNTIMED :], []
        return [statistics.median(values) for values in zip(*timed)]
