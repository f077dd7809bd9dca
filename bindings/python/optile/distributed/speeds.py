"""How fast ranks are, by what windows of steps say of them. Pure.

Under one plan, a rank's windows are averaged, so that noise moves nothing; two windows in a row
that say another speed are a change of speed, and what was before it is forgotten.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from typing import Deque, List, Optional, Sequence, Tuple

_MOST_WINDOWS = 16  # that are averaged
_LEAST_WINDOWS = 2  # before anything is decided by them
_LEAST_DIFFERENCE = 0.1  # of another speed, at any noise
_NOISE_AT_FIRST = 0.03
_LEAST_NOISE = 0.005
_NOISES = 4.0  # beyond so many, a window says another speed
_MOST_DEVIATIONS = 512  # that the noise is told by
_MARGINS = 2.0  # a gain has to be so many times what noise alone would promise

Measured = Tuple[float, ...]


class _Rank:
    """One rank's windows under the plan in force."""

    def __init__(self) -> None:
        self.windows: Deque[Tuple[float, Measured]] = deque(maxlen=_MOST_WINDOWS)
        self.doubtful: Optional[Tuple[float, Measured]] = None  # says another speed, alone so far

    def average(self) -> Measured:
        return tuple(statistics.fmean(one) for one in zip(*(one for _, one in self.windows)))

    def add(self, window: Tuple[float, Measured], limit: float) -> Tuple[bool, Optional[float]]:
        """Whether its speed has changed, and how far the window is from those before it."""
        if not self.windows:
            self.windows.append(window)
            return False, None
        deviation = math.log(window[0] / statistics.fmean(level for level, _ in self.windows))
        if abs(deviation) <= limit:
            self.doubtful = None
            self.windows.append(window)
            return False, deviation
        doubtful, self.doubtful = self.doubtful, window
        if doubtful is None or abs(math.log(window[0] / doubtful[0])) > limit:
            return False, None
        self.windows.clear()
        self.windows.extend((doubtful, window))
        self.doubtful = None
        return True, None


class SpeedEstimates:
    """Of all ranks, out of the same windows on each of them."""

    def __init__(self, ranks: int) -> None:
        self._ranks = [_Rank() for _ in range(ranks)]
        self._former: Optional[List[_Rank]] = None
        self._deviations: Deque[float] = deque(maxlen=_MOST_DEVIATIONS)

    def add(self, levels: Sequence[float], measured: Sequence[Measured]) -> bool:
        """A window has ended: each rank's seconds for a unit of work, and whatever numbers of it
        are to be averaged. True: some rank's speed has changed."""
        limit = max(_LEAST_DIFFERENCE, _NOISES * self._noise())
        changed = False
        for rank, window in zip(self._ranks, zip(levels, measured)):
            here, deviation = rank.add(window, limit)
            changed = changed or here
            if deviation is not None:
                self._deviations.append(abs(deviation))
        return changed

    @property
    def ready(self) -> bool:
        """Enough windows for a decision."""
        return self._windows() >= _LEAST_WINDOWS

    @property
    def doubtful(self) -> bool:
        """Some rank's last window says another speed."""
        return any(rank.doubtful is not None for rank in self._ranks)

    @property
    def averages(self) -> List[Measured]:
        """Of each rank. Only where a window has ended."""
        return [rank.average() for rank in self._ranks]

    @property
    def least_gain(self) -> float:
        """What a change has to promise beyond 1, since noise alone promises something: the slowest
        of many ranks that are alike seems slow."""
        slowest = math.sqrt(2 * math.log(max(2, len(self._ranks))))
        return _MARGINS * self._noise() * slowest / math.sqrt(max(1, self._windows()))

    def begin_plan(self) -> None:
        """Another plan is in force: what a unit of work takes may depend on it."""
        self._former, self._ranks = self._ranks, [_Rank() for _ in self._ranks]

    def return_to_former_plan(self) -> None:
        assert self._former is not None
        self._ranks, self._former = self._former, None

    def _windows(self) -> int:
        return min(len(rank.windows) for rank in self._ranks)

    def _noise(self) -> float:
        """Of a window, as a part of its seconds."""
        if len(self._deviations) < 2 * _LEAST_WINDOWS:
            return _NOISE_AT_FIRST
        return max(_LEAST_NOISE, 1.4826 * statistics.median(self._deviations))
