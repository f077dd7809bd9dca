"""Which rank runs which units of a step, corrected while it runs. Pure.

Another placement is searched for by `optile place`, beside the steps of rank 0; whether it is tried
and whether it stays is decided here, on every rank by the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from .changes import Change, Trials, have_moved
from .plan_asking import Verdict
from .stages import Speed, StageSeconds, Window, speed_beside
from .step_units import Schedule, UnitCosts, UnitGraph, simulate


_LEAST_PART = 0.02  # of the forward pass: less does not tell how fast a rank is
_FEWEST_WINDOWS = 4  # of one speed under one plan, before one rank goes on alone, or divides again
_REST_WINDOWS = 64  # that a rest is believed; doubles each time, up to so many times:
_MOST_DOUBLINGS = 6


class _Rests:
    """What steps take beyond what is simulated of them, divided between ranks or not. Of the plans
    that are not in force it is believed for a while only: a link may be fast again, and nothing
    but a trial tells."""

    def __init__(self) -> None:
        self._seconds: Dict[bool, float] = {}
        self._windows_left = 0
        self._believed = 0  # how often

    def clear(self) -> None:
        """The speed of a rank has changed."""
        self._seconds.clear()
        self._believed = 0

    def add(self, divided: bool, seconds: float) -> None:
        """A window of steps in force has ended."""
        self._seconds[divided] = max(0.0, seconds)
        if (not divided) not in self._seconds:
            return
        self._windows_left -= 1
        if self._windows_left <= 0:
            self._seconds.pop(not divided, None)

    def leave(self, divided: bool, seconds: float) -> None:
        """These were the last ones in force."""
        self._seconds[divided] = max(0.0, seconds)
        self._windows_left = _REST_WINDOWS << min(self._believed, _MOST_DOUBLINGS)
        self._believed += 1

    def of(self, divided: bool) -> Optional[float]:
        """None: nothing is known."""
        return self._seconds.get(divided)


@dataclass(frozen=True)
class Placement:
    owners: Tuple[int, ...]  # the rank of each unit

    @property
    def is_divided(self) -> bool:
        """Between ranks; else one rank runs all units."""
        return len(set(self.owners)) > 1


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
        self._rests = _Rests()
        self._found: Optional[Placement] = None  # by a search, and not looked at yet
        self._divided: Optional[Placement] = None  # the last one that was in force
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
            profile.cores,
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

    @property
    def may_change(self) -> bool:
        return not self._stays and self._trials.may_begin

    @property
    def speed_changed(self) -> bool:
        """Of some rank, with the last window."""
        return self._trials.speed_changed

    def note_search(self) -> None:
        """One has begun, with the costs as they are."""
        self._searched = list(self._speeds)

    @property
    def proposed(self) -> Optional[Change]:
        return self._trials.proposed

    def add(
        self, window: Window, step: int, found: Optional[Placement] = None, searching: bool = False,
        verdict: Verdict = Verdict.ALONE,
    ) -> bool:  # fmt: skip
        """A window has ended with that step; `found`: by a search that has ended meanwhile;
        `searching`: one runs, or will. True: another plan is in force from the next step."""
        self.measured_seconds = window.step_seconds
        levels, speeds = self._speeds_in(window)
        lost = self._trials.add(levels, speeds, window.step_seconds)
        self._speeds = [Speed(*one) for one in self._trials.speeds.averages]
        self.schedule = self._simulated(self.plan)
        if self._trials.speed_changed:
            self._rests.clear()
            self._found = found = None  # it was for other speeds
        if lost is not None:
            return self._switch(lost.before, window.step_seconds - self.predicted_seconds)
        doubtful = self._trials.speeds.doubtful  # then rests are of one speed, steps of another
        if not doubtful:
            rest = self._trials.rest_of(self.predicted_seconds)
            self._rests.add(self.plan.is_divided, rest)
        self._found = self._found if found is None else found
        rest = self._trials.rest_of(self.predicted_seconds)
        if (agreed := self._trials.settle(verdict, step)) is not None:
            return self._switch(agreed.after, rest)
        if self._stays or doubtful or not self._trials.may_begin or not verdict.may_propose:
            return False
        others, self._found = [self._found], None
        if self._trials.windows > _FEWEST_WINDOWS and not searching:
            others.append(self._undivided() if self.plan.is_divided else self._divided)
        others = [one for one in others if one is not None and one != self.plan]
        return bool(others) and self._try(max(others, key=self._gain_of), step, verdict)

    def _undivided(self) -> Placement:
        """All units on the rank that is fastest: no message is waited for, and each rank's seconds
        for that are measured, while a division's are simulated."""
        whole = self.whole_seconds()
        return Placement((whole.index(min(whole)),) * len(self._graph.names))

    def _gain_of(self, plan: Placement) -> float:
        rest = None  # as much as now
        if plan.is_divided != self.plan.is_divided:
            rest = self._rests.of(plan.is_divided)
            if rest is None and not plan.is_divided:
                rest = 0.0
        return self._trials.gain_of(self.predicted_seconds, self._simulated(plan).seconds, rest)

    def _try(self, plan: Placement, step: int, verdict: Verdict) -> bool:
        change = Change(step, self.plan, plan, self._gain_of(plan))
        change.whole_seconds = self.whole_seconds()
        rest = self._trials.rest_of(self.predicted_seconds)
        return self._trials.begin(change, verdict) and self._switch(plan, rest)

    def _switch(self, plan: Placement, rest: float) -> bool:
        """`rest`: of the plan in force until now."""
        if plan.is_divided != self.plan.is_divided:
            self._rests.leave(self.plan.is_divided, rest)
        if self.plan.is_divided:
            self._divided = self.plan
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
