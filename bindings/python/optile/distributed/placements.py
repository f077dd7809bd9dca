"""Which rank runs which units of a step, corrected while it runs. Pure.

Another placement is searched for by `optile place`, beside the steps of rank 0; whether it is tried
and whether it stays is decided here, on every rank by the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from .changes import Change, Trials, have_moved
from .stages import Speed, StageSeconds, Window, speed_beside
from .step_units import Schedule, UnitCosts, UnitGraph, simulate


_LEAST_PART = 0.02  # of the forward pass: less does not tell how fast a rank is


@dataclass(frozen=True)
class Placement:
    owners: Tuple[int, ...]  # the rank of each unit


class PlacementController:
    def __init__(
        self, graph: UnitGraph, costs: UnitCosts, elements: Sequence[int],
        placement: Placement, stays: bool,
    ) -> None:  # fmt: skip
        """`elements`: parameters of each unit, one by one. `stays`: it is never changed."""
        self._graph = graph
        self._profile = costs
        self._elements = elements
        self._stays = stays
        self._speeds = [Speed()] * costs.ranks
        self._searched: Optional[List[Speed]] = None  # speeds of the last search under this plan
        self._trials = Trials(costs.ranks)
        self.measured_seconds: Optional[float] = None  # None: no window has ended yet
        self.plan = placement
        self.schedule = self._simulated(placement)

    @property
    def changes(self) -> List[Change]:
        return self._trials.changes

    @property
    def predicted_seconds(self) -> float:
        """Of a step under the plan in force."""
        return self.schedule.seconds

    def costs(self) -> UnitCosts:
        """As fast as the ranks are lately."""
        profile = self._profile

        def scaled(seconds: Sequence[Sequence[float]], factors: Sequence[float]):  # type: ignore
            return [[one * factor for one in of_rank]
                    for of_rank, factor in zip(seconds, factors)]  # fmt: skip

        return UnitCosts(
            scaled(profile.forward, [one.forward for one in self._speeds]),
            scaled(profile.backward, [one.backward for one in self._speeds]),
            profile.link,
            scaled([self._elements] * profile.ranks, [one.update for one in self._speeds]),
        )

    def whole_seconds(self) -> List[float]:
        """What each rank would take for all units alone."""
        costs = self.costs()
        return [costs.whole_seconds(rank) for rank in range(costs.ranks)]

    @property
    def wants_search(self) -> bool:
        """Whether another placement may be tried, and the ranks' speeds are not those of the last
        search, which else would find the same again."""
        return (
            not self._stays
            and self._trials.may_begin
            and (self._searched is None or have_moved(self._speeds, self._searched))
        )

    def note_search(self) -> None:
        """One has begun, with the costs as they are."""
        self._searched = list(self._speeds)

    def add(self, window: Window, step: int, found: Optional[Placement] = None) -> bool:
        """A window has ended with that step; `found`: by a search that has ended meanwhile. True:
        another plan is in force from the next step."""
        self.measured_seconds = window.step_seconds
        levels, speeds = self._speeds_in(window)
        lost = self._trials.add(levels, speeds, window.step_seconds)
        self._speeds = [Speed(*one) for one in self._trials.speeds.averages]
        self.schedule = self._simulated(self.plan)
        if lost is not None:
            return self._switch(lost.before)
        if found is None or found == self.plan or self._stays or not self._trials.may_begin:
            return False
        return self._try(found, step)

    def _try(self, plan: Placement, step: int) -> bool:
        gain = self._trials.gain_of(self.predicted_seconds, self._simulated(plan).seconds)
        change = Change(step, self.plan, plan, gain)
        change.whole_seconds = self.whole_seconds()
        return self._trials.begin(change) and self._switch(plan)

    def _switch(self, plan: Placement) -> bool:
        self.plan = plan
        self.schedule = self._simulated(plan)
        self._searched = None
        return True

    def _simulated(self, plan: Placement) -> Schedule:
        return simulate(self._graph, self.costs(), plan.owners)

    def _own(self, seconds: Sequence[float], rank: int) -> float:
        return sum(one for one, owner in zip(seconds, self.plan.owners) if owner == rank)

    def probe_of(self, rank: int) -> Optional[int]:
        """The unit that a rank which runs next to nothing runs all the same, forward, to show how
        fast it is; else nothing would ever be placed there again."""
        forward = self._profile.forward[rank]
        least = _LEAST_PART * sum(forward)
        if self._own(forward, rank) >= least:
            return None
        telling = [unit for unit, seconds in enumerate(forward) if seconds >= least]
        if telling:
            return min(telling, key=lambda unit: forward[unit])
        return max(range(len(forward)), key=lambda unit: forward[unit])

    def _speeds_in(self, window: Window) -> Tuple[List[float], List[Speed]]:
        """The units that a rank runs say how fast it is, and stand for those that it does not."""
        levels, speeds = [], []
        for rank, stage in enumerate(window.stages):
            before, probe = self._speeds[rank], self.probe_of(rank)
            if probe is None:
                expected = StageSeconds(
                    self._own(self._profile.forward[rank], rank),
                    self._own(self._profile.backward[rank], rank),
                    self._own(self._elements, rank),
                )
                level, speed = speed_beside(stage, expected, before)
            else:
                expected = StageSeconds(self._profile.forward[rank][probe], 0.0)
                level, speed = speed_beside(StageSeconds(stage.forward, 0.0), expected, before)
                speed = speed._replace(backward=before.backward * speed.forward / before.forward)
            levels.append(level)
            speeds.append(speed)
        return levels, speeds
