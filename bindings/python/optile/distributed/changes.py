"""Changes of how ranks divide their work: tried where they promise enough, and taken back where
little of that came true. Pure.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Deque, List, Optional, Sequence

from .plan_asking import Verdict
from .speeds import SpeedEstimates


@dataclass
class Change:
    """What was tried in the place of what."""

    step: int
    before: Any
    after: Any
    predicted: float  # how many times as fast
    measured: Optional[float] = None  # None: not measured yet, or not to be compared
    kept: bool = True
    reason: str = ""
    # What each rank, as fast as it was then, would have taken for all of the work.
    whole_seconds: List[float] = field(default_factory=list)


_LEAST_DRIFT = 0.01  # of a speed, for another search


def have_moved(speeds: Sequence[Sequence[float]], before: Sequence[Sequence[float]]) -> bool:
    """Whether any number of any rank is another one than it was, by more than a hundredth."""
    return any(
        abs(one - other) > _LEAST_DRIFT * other
        for rank, rank_before in zip(speeds, before) for one, other in zip(rank, rank_before)
    )  # fmt: skip


@dataclass(frozen=True)
class Thresholds:
    least_gain: float = 1.05  # predicted, for a change
    least_part: float = 0.25  # of the predicted gain, measured, or it is taken back
    clear_loss: float = 0.9  # so many times as fast: taken back at once
    windows: int = 4  # in which the gain has to show
    pause: int = 8  # windows without a change behind one that was taken back; doubles each time
    most_windows: int = 16  # whose steps are averaged


class Trials:
    """One change after the other, each judged by the steps behind it."""

    def __init__(self, ranks: int) -> None:
        self.thresholds = Thresholds()
        self.speeds = SpeedEstimates(ranks)
        self.changes: List[Change] = []
        self._seconds: Deque[float] = deque(maxlen=self.thresholds.most_windows)
        self.speed_changed = False  # of some rank, with the last window
        self._tried: Optional[Change] = None
        self.proposed: Optional[Change] = None  # it is asked whether it may be tried
        self._seconds_before = 0.0
        self._waited = False
        self._pause = 0
        self._taken_back = 0

    @property
    def step_seconds(self) -> float:
        """Of the windows under the plan in force, since the ranks have the speeds they have."""
        return statistics.fmean(self._seconds)

    @property
    def windows(self) -> int:
        """Of the same, how many; 16 at most."""
        return len(self._seconds)

    def add(self, levels: Sequence[float], measured: Sequence[Any], seconds: float,
            ) -> Optional[Change]:  # fmt: skip
        """A window has ended, as SpeedEstimates.add() takes it, with its step's seconds. Returns
        the change that was tried, where it has to be taken back: its `before` is in force again."""
        self.speed_changed = changed = self.speeds.add(levels, measured)
        if changed:
            self._seconds.clear()
            self._pause = 0
        self._seconds.append(seconds)
        if self._tried is None:
            self._pause = max(0, self._pause - 1)
            return None
        return self._judge(changed)

    @property
    def may_begin(self) -> bool:
        return (self._tried is None and self.proposed is None and self._pause == 0
                and self.speeds.ready)  # fmt: skip

    def begin(self, change: Change, verdict: Verdict = Verdict.ALONE) -> bool:
        """False: it promises too little to be tried, or it is only proposed yet. `verdict`: ALONE
        or READY."""
        least = max(self.thresholds.least_gain, 1 + self.speeds.least_gain)
        if change.predicted < least:
            return False
        if verdict is not Verdict.ALONE:
            self.proposed = change
            return False
        self._start(change)
        return True

    def settle(self, verdict: Verdict, step: int) -> Optional[Change]:
        """What rank 0 has heard. Returns the change that was proposed, where it is tried from the
        next step on; where the answer is another one, it is given up."""
        change = self.proposed
        if change is None or verdict in (Verdict.READY, Verdict.WAIT):
            return None
        self.proposed = None
        if verdict not in (Verdict.ACCEPTED, Verdict.ALONE):
            return None
        change.step = step
        self._start(change)
        return change

    def _start(self, change: Change) -> None:
        self._tried, self._waited = change, False
        self._seconds_before = self.step_seconds
        self._seconds.clear()
        self.speeds.begin_plan()
        self.changes.append(change)

    def rest_of(self, predicted_seconds: float) -> float:
        """What steps take beyond what the simulation knows of, in seconds."""
        return max(0.0, self.step_seconds - predicted_seconds)

    def gain_of(
        self, predicted_seconds: float, seconds: float, rest: Optional[float] = None
    ) -> float:
        """How many times as fast a plan promises to be whose step takes so long by simulation,
        where that of the plan in force takes `predicted_seconds`. `rest`: what its steps take
        beyond that; None: as much as those of the plan in force."""
        own_rest = self.rest_of(predicted_seconds)
        other = seconds + (own_rest if rest is None else rest)
        return (predicted_seconds + own_rest) / max(other, 1e-12)

    def _judge(self, changed: bool) -> Optional[Change]:
        change = self._tried
        assert change is not None
        if changed:
            # Steps before it say nothing of those behind it.
            self._tried = None
            change.reason = "not compared: the speed of a rank changed meanwhile"
            return None
        if self.speeds.doubtful and not self._waited:
            self._waited = True
            return None
        gain = self._seconds_before / self.step_seconds
        gained = gain >= 1 + (change.predicted - 1) * self.thresholds.least_part
        windows_left = len(self._seconds) < self.thresholds.windows
        if not gained and windows_left and gain >= self.thresholds.clear_loss:
            return None
        self._tried, change.measured = None, gain
        return None if gained else self._take_back(change)

    def _take_back(self, change: Change) -> Change:
        change.kept = False
        change.reason = (
            f"steps were {change.measured:.2f} times as fast and not {change.predicted:.2f}"
        )
        # One more: the next change begins behind the window that ends the pause.
        self._pause = 1 + (self.thresholds.pause << min(self._taken_back, 6))
        self._taken_back += 1
        self._seconds.clear()
        self.speeds.return_to_former_plan()
        return change


class WindowMedians:
    """Collects numbers of steps, until a window of them is whole. An odd number of steps: where a
    rank's speed changes within a window, the median is of one speed or of the other."""

    STEPS = 5
    UNTIMED = 2  # first ones under a plan: other shapes, other memory

    def __init__(self) -> None:
        self._steps: List[Sequence[float]] = []
        self._untimed = self.UNTIMED

    def add(self, step: Sequence[float]) -> Optional[List[float]]:
        """The median of each number, where the window ends with this step."""
        if self._untimed > 0:
            self._untimed -= 1
            return None
        self._steps.append(step)
        if len(self._steps) < self.STEPS:
            return None
        timed, self._steps = self._steps, []
        return [statistics.median(values) for values in zip(*timed)]

    def begin_plan(self) -> None:
        """Another plan is in force from the next step."""
        self._steps = []
        self._untimed = self.UNTIMED
