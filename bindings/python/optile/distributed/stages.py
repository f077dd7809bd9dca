"""Which layers each stage of a pipeline has, and into how many micro-batches a step is divided,
corrected while it runs. Pure.

A plan is judged by simulating its step. Every rank has a controller and gives it the same
measurements, so that all decide alike without a leader. Seconds throughout.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .changes import Change, Trials, have_moved
from .plan_asking import Verdict
from .shared_cores import Need, SharedCores, Task, rates_by_place, repeated, run_tasks

SCHEDULES = ("1f1b", "gpipe")

_MOST_PER_RANK = 8  # micro-batches
_MOST_COUNTS = 5  # numbers of micro-batches to choose from
_MOST_VISITED = 1000  # partial plans of one search; beyond that, the best one found stands


@dataclass(frozen=True)
class Plan:
    """How a model of consecutive layers is run by ranks, one stage each."""

    boundaries: Tuple[int, ...]  # the first layer of each stage but the first one
    micro_batches: int  # of a step

    def layers_of(self, rank: int, layers: int) -> range:
        """The layers of one rank, out of so many."""
        edges = (0, *self.boundaries, layers)
        return range(edges[rank], edges[rank + 1])

    def owners(self, layers: int) -> List[int]:
        """The rank of each layer."""
        ranks = len(self.boundaries) + 1
        return [rank for rank in range(ranks) for _ in self.layers_of(rank, layers)]


class StageSeconds(NamedTuple):
    """What one stage does in a step."""

    forward: float  # for a micro-batch
    backward: float  # for a micro-batch
    update: float = 0.0  # once, after the last backward: the optimizer


def passes(schedule: str, stage: int, stages: int, micro_batches: int) -> List[bool]:
    """What a stage does one after the other; True: forward. Both ways micro-batches keep their
    order."""
    ahead = micro_batches if schedule == "gpipe" else min(micro_batches, stages - stage)
    steady = [False, True] * (micro_batches - ahead)
    return [True] * ahead + steady + [False] * ahead


def step_tasks(
    schedule: str, micro_batches: int, stages: Sequence[StageSeconds]
) -> List[List[Task]]:
    """What each stage does in a step, one after the other."""
    found: List[List[Task]] = []
    last = len(stages) - 1
    orders = [passes(schedule, stage, len(stages), micro_batches) for stage in range(last + 1)]
    places = [[[place for place, forward in enumerate(order) if forward == way]
               for way in (False, True)] for order in orders]  # fmt: skip
    for stage, (order, seconds) in enumerate(zip(orders, stages)):
        tasks = []
        numbers = [0, 0]
        for forward in order:
            source = stage - 1 if forward else stage + 1
            number = numbers[forward]
            numbers[forward] += 1
            needs = ((Need(source, places[source][forward][number]),)
                     if 0 <= source <= last else ())  # fmt: skip
            tasks.append(Task(seconds.forward if forward else seconds.backward, needs))
        found.append([*tasks, Task(seconds.update)])
    return found


def simulate(
    schedule: str, micro_batches: int, stages: Sequence[StageSeconds],
    cores: Optional[SharedCores] = None,
) -> float:  # fmt: skip
    """How long a step takes. What a stage receives counts as its own: PyTorch's schedules ask for
    a micro-batch when they are free for it, and wait until it is there. `cores`: where ranks share
    some, those of all replicas' ranks."""
    if cores is not None:
        tasks = step_tasks(schedule, micro_batches, stages)
        ends = run_tasks(repeated(tasks, len(cores) // len(stages)), cores)
        return max(of_rank[-1] for of_rank in ends)
    last = len(stages) - 1
    todo = [passes(schedule, stage, len(stages), micro_batches)[::-1] for stage in range(last + 1)]
    forward_ends: List[List[float]] = [[] for _ in stages]
    backward_ends: List[List[float]] = [[] for _ in stages]
    free = [0.0] * len(stages)
    while any(todo):
        for stage, seconds in enumerate(stages):
            while todo[stage]:
                forward = todo[stage][-1]
                ends = forward_ends if forward else backward_ends
                number = len(ends[stage])
                if forward:
                    source = forward_ends[stage - 1] if stage > 0 else None
                else:
                    source = backward_ends[stage + 1] if stage < last else forward_ends[stage]
                if source is not None and number >= len(source):
                    break
                begin = max(free[stage], source[number] if source is not None else 0.0)
                free[stage] = begin + (seconds.forward if forward else seconds.backward)
                ends[stage].append(free[stage])
                todo[stage].pop()
    return max(end + seconds.update for end, seconds in zip(free, stages))


@dataclass(frozen=True)
class Profile:
    """What each layer takes for a micro-batch of one size, as a warm-up measured it."""

    forward: Sequence[Sequence[float]]  # [rank][layer]
    backward: Sequence[Sequence[float]]  # [rank][layer]
    transfer: Sequence[Sequence[float]]  # [rank][layer]: of a layer's input, from the rank before


def profile_of(rounds: Sequence[Sequence[float]]) -> List[float]:
    """Seconds of each layer out of a few rounds over all of them. A round that was disturbed hits a
    few layers: how layers compare is told by their quickest rounds, the level by all rounds."""
    shape = [min(seconds) for seconds in zip(*rounds)]
    whole = sum(shape)
    level = sum(sum(seconds) for seconds in rounds) / len(rounds)
    return [one * level / whole if whole > 0 else 0.0 for one in shape]


def slowest_profile(every: Sequence[Sequence[float]]) -> List[float]:
    """Of ranks that run equal parts: how layers compare is told by all of them, the level by the
    one that takes longest in all. The longest of each layer would add up what noise there is."""
    whole = [sum(one) for one in every]
    mean = [sum(one) / len(every) for one in zip(*every)]
    return [one * max(whole) / max(sum(mean), 1e-12) for one in mean]


class Speed(NamedTuple):
    """How a rank compares with its profile, lately: so many times the seconds."""

    forward: float = 1.0
    backward: float = 1.0
    update: float = 0.0  # seconds for a parameter's element


def speed_beside(
    stage: StageSeconds, expected: StageSeconds, before: Speed
) -> Tuple[float, Speed]:
    """How a rank compares with what its profile says of the same work (`expected.update`: elements
    of parameters): computing as a whole, and each part of it. Without such work: as before."""

    def ratio(measured: float, profiled: float, otherwise: float) -> float:
        return measured / profiled if profiled > 0 and measured > 0 else otherwise

    return ratio(stage.forward + stage.backward, expected.forward + expected.backward, 1.0), Speed(
        ratio(stage.forward, expected.forward, before.forward),
        ratio(stage.backward, expected.backward, before.backward),
        ratio(stage.update, expected.update, before.update),
    )


def _summed(values: Sequence[float]) -> List[float]:
    return [0.0, *itertools.accumulate(values)]


class Costs:
    """What stages take under any plan with one number of micro-batches."""

    def __init__(
        self, profile: Profile, elements: Sequence[int], speeds: Sequence[Speed],
        rates: Sequence[float] = (), shared: Sequence[bool] = (),
    ) -> None:  # fmt: skip
        """`elements`: of each layer's parameters; `speeds`: of each rank; `rates`: how much of its
        cores the others leave each rank, 0 to 1; `shared`: whose speed is of its messages, too
        (StageController._speeds_in). Empty: each has cores of its own."""
        self.layers = len(elements)
        self.ranks = len(speeds)
        self._forward = [_summed(of_rank) for of_rank in profile.forward]
        self._backward = [_summed(of_rank) for of_rank in profile.backward]
        self._transfer = profile.transfer
        self._elements = _summed(elements)
        self._speeds = speeds
        self._slowness = [1 / one for one in rates or [1.0] * self.ranks]
        self._shared = shared or [False] * self.ranks

    def transfers(self, rank: int, begin: int, end: int) -> Tuple[float, float]:
        """What a stage waits for what it receives, forward and backward, for a micro-batch."""
        into = self._transfer[rank][begin] if rank > 0 else 0.0
        back = self._transfer[rank + 1][end] if rank + 1 < self.ranks else 0.0
        return into, back

    def stage(self, rank: int, begin: int, end: int) -> StageSeconds:
        """Layers from `begin`, up to `end` and without it, on that rank."""
        speed = self._speeds[rank]
        into, back = self.transfers(rank, begin, end)
        forward = self._forward[rank][end] - self._forward[rank][begin]
        backward = self._backward[rank][end] - self._backward[rank][begin]
        slowness = self._slowness[rank]
        if self._shared[rank]:
            into, back = into * speed.forward, back * speed.backward
        return StageSeconds(
            (forward * speed.forward + into) * slowness,
            (backward * speed.backward + back) * slowness,
            (self._elements[end] - self._elements[begin]) * speed.update * slowness,
        )

    def stages(self, boundaries: Sequence[int]) -> List[StageSeconds]:
        edges = (0, *boundaries, self.layers)
        return [self.stage(rank, edges[rank], edges[rank + 1]) for rank in range(self.ranks)]


class _Search:
    """The boundaries with the shortest simulated step, by branch and bound. A step takes at least
    what one micro-batch takes through all stages and, beside that, what any one stage does for the
    others; of stages that are still open, dynamic programming over (stage, its first layer) says
    how little either can be."""

    def __init__(self, costs: Costs, schedule: str, micro_batches: int) -> None:
        self._costs = costs
        self._schedule = schedule
        self._micro_batches = micro_batches
        self._visited = 0
        ranks = costs.ranks
        self._ahead = [sum(passes(schedule, rank, ranks, micro_batches)[:micro_batches])
                       for rank in range(ranks)]  # fmt: skip
        self._least: List[Dict[int, Tuple[float, float]]] = [{} for _ in range(ranks)]
        self._least.append({costs.layers: (0.0, 0.0)})
        for rank in reversed(range(ranks)):
            self._fill(rank)
        self.seconds = float("inf")
        self.boundaries: Tuple[int, ...] = ()
        self._branch((), 0.0, 0.0)

    def _ends(self, rank: int, begin: int) -> range:
        left = self._costs.ranks - rank - 1  # ranks behind it, a layer each at least
        last = self._costs.layers - left
        return range(begin + 1 if left else last, last + 1)

    def _parts(self, rank: int, begin: int, end: int) -> Tuple[float, float]:
        """Of a stage: one micro-batch, and at least that long for the others. Under 1F1B its first
        micro-batch comes back after those ahead have gone forward; the same backwards in time."""
        stage = self._costs.stage(rank, begin, end)
        forward, backward = stage.forward, stage.backward
        others = self._micro_batches - 1
        if self._schedule == "gpipe":
            return forward + backward, others * (forward + backward)
        behind = self._micro_batches - self._ahead[rank]
        return forward + backward, max(
            others * backward + behind * forward, others * forward + behind * backward
        )

    def _fill(self, rank: int) -> None:
        """From each layer where that stage may begin, both parts at least, of all stages left."""
        ranks, layers = self._costs.ranks, self._costs.layers
        for begin in range(rank, layers - ranks + rank + 1):
            once = others = float("inf")
            for end in self._ends(rank, begin):
                if end not in self._least[rank + 1]:
                    continue
                stage_once, stage_others = self._parts(rank, begin, end)
                rest_once, rest_others = self._least[rank + 1][end]
                once = min(once, stage_once + rest_once)
                others = min(others, max(stage_others, rest_others))
            self._least[rank][begin] = (once, others)

    def _branch(self, chosen: Tuple[int, ...], once: float, others: float) -> None:
        """`once`, `others`: both parts of the stages chosen."""
        rank = len(chosen)
        begin = chosen[-1] if chosen else 0
        if rank == self._costs.ranks - 1:
            stages = self._costs.stages(chosen)
            seconds = simulate(self._schedule, self._micro_batches, stages)
            if seconds < self.seconds:
                self.seconds, self.boundaries = seconds, chosen
            return
        branches = []
        for end in self._ends(rank, begin):
            stage_once, stage_others = self._parts(rank, begin, end)
            rest_once, rest_others = self._least[rank + 1][end]
            stage_once, stage_others = once + stage_once, max(others, stage_others)
            bound = stage_once + rest_once + max(stage_others, rest_others)
            branches.append((bound, end, stage_once, stage_others))
        for bound, end, stage_once, stage_others in sorted(branches):
            if bound >= self.seconds * (1 - 1e-9) or self._visited >= _MOST_VISITED:
                return
            self._visited += 1
            self._branch((*chosen, end), stage_once, stage_others)


def best_boundaries(
    costs: Costs, schedule: str, micro_batches: int
) -> Tuple[Tuple[int, ...], float]:
    """A run of layers for each rank, one layer at least, and the simulated step's seconds."""
    if costs.layers < costs.ranks:
        raise ValueError(f"{costs.layers} layers are no pipeline of {costs.ranks} ranks")
    found = _Search(costs, schedule, micro_batches)
    return found.boundaries, found.seconds


def micro_batch_counts(batch: int, ranks: int) -> List[int]:
    """Numbers of equal micro-batches that a batch of so many rows can be divided into, and that
    fill a pipeline of these ranks; few of them."""
    fitting = [one for one in range(ranks, _MOST_PER_RANK * ranks + 1) if batch % one == 0]
    if not fitting:
        raise ValueError(
            f"a batch of {batch} rows has no divisor from {ranks} to {_MOST_PER_RANK * ranks}, to "
            f"be divided into micro-batches for {ranks} ranks"
        )
    apart = max(1, len(fitting) - 1) / max(1, min(len(fitting), _MOST_COUNTS) - 1)
    return sorted({fitting[round(one * apart)] for one in range(min(len(fitting), _MOST_COUNTS))})


@dataclass(frozen=True)
class Window:
    """A few steps under the same plan, as all ranks saw them."""

    stages: Sequence[StageSeconds]  # of each rank: computing alone, nothing waited for
    step_seconds: float  # of the slowest rank


class StageController:
    def __init__(
        self, schedule: str, profiles: Mapping[int, Profile], elements: Sequence[int],
        boundaries: Optional[Sequence[int]] = None, cores: Optional[SharedCores] = None,
    ) -> None:  # fmt: skip
        """`profiles`: for each number of micro-batches that may be chosen. Where `boundaries` are
        given, they stay. `cores`: of all replicas' ranks, where some are shared; profiles and
        windows are then those of ranks that have theirs to themselves."""
        self._schedule = schedule
        self._cores = cores
        self._profiles = profiles
        self._elements = elements
        self._fixed = boundaries is not None
        self._ranks = len(next(iter(profiles.values())).forward)
        rates = rates_by_place(cores, self._ranks) if cores is not None else [1.0] * self._ranks
        self._shared = [one < 1 for one in rates]
        self._speeds = [Speed()] * self._ranks
        self._searched: Optional[List[Speed]] = None  # speeds of the last search under this plan
        self._trials = Trials(self._ranks)
        self.measured_seconds: Optional[float] = None  # None: no window has ended yet
        self.plan, self.predicted_seconds = self._best(boundaries)

    @property
    def changes(self) -> List[Change]:
        return self._trials.changes

    @property
    def proposed(self) -> Optional[Change]:
        return self._trials.proposed

    def add(self, window: Window, step: int, verdict: Verdict = Verdict.ALONE) -> bool:
        """A window has ended with that step. True: another plan is in force from the next one."""
        self.measured_seconds = window.step_seconds
        levels, speeds = self._speeds_in(window)
        lost = self._trials.add(levels, speeds, window.step_seconds)
        self._speeds = [Speed(*one) for one in self._trials.speeds.averages]
        self.predicted_seconds = self._simulated(self.plan)
        if lost is not None:
            return self._switch(lost.before)
        if (agreed := self._trials.settle(verdict, step)) is not None:
            return self._switch(agreed.after)
        if self._fixed or not self._trials.may_begin or not verdict.may_propose:
            return False
        if self._searched is not None and not have_moved(self._speeds, self._searched):
            return False  # another search would find the same
        return self._change(step, verdict)

    def _change(self, step: int, verdict: Verdict) -> bool:
        plan, seconds = self._best(None)
        gain = self._trials.gain_of(self.predicted_seconds, seconds)
        change = Change(step, self.plan, plan, gain)
        change.whole_seconds = self.whole_seconds()
        if self._trials.begin(change, verdict):
            return self._switch(plan)
        # What promises enough but for noise may be tried when more windows are known.
        hopeless = gain < self._trials.thresholds.least_gain
        self._searched = self._speeds if hopeless else None
        return False

    def whole_seconds(self) -> List[float]:
        """What each rank, as fast as it is, would take for all layers and micro-batches alone."""
        count = self.plan.micro_batches
        profile, elements = self._profiles[count], sum(self._elements)
        return [
            count * (sum(profile.forward[rank]) * speed.forward
                     + sum(profile.backward[rank]) * speed.backward)
            + elements * speed.update
            for rank, speed in enumerate(self._speeds)
        ]  # fmt: skip

    def _switch(self, plan: Plan) -> bool:
        self.plan = plan
        self._searched = None
        self.predicted_seconds = self._simulated(plan)
        return True

    def _costs(self, micro_batches: int, rates: Sequence[float] = ()) -> Costs:
        return Costs(self._profiles[micro_batches], self._elements, self._speeds, rates,
                     self._shared)  # fmt: skip

    def _simulated(self, plan: Plan) -> float:
        stages = self._costs(plan.micro_batches).stages(plan.boundaries)
        return simulate(self._schedule, plan.micro_batches, stages, self._cores)

    def _boundaries(self, count: int) -> List[Tuple[int, ...]]:
        """The best ones for so many micro-batches. Where cores are shared, a search by simulated
        steps would take too long: the best ones if all computed all the time, and if each rank had
        its cores to itself."""
        every: List[Sequence[float]] = [()]
        if self._cores is not None:
            every.append(rates_by_place(self._cores, self._ranks))
        return [best_boundaries(self._costs(count, one), self._schedule, count)[0]
                for one in every]  # fmt: skip

    def _best(self, boundaries: Optional[Sequence[int]]) -> Tuple[Plan, float]:
        found = []
        for count in sorted(self._profiles):
            several = self._boundaries(count) if boundaries is None else [tuple(boundaries)]
            found += [Plan(one, count) for one in several]
        plan = min(found, key=self._simulated)
        return plan, self._simulated(plan)

    def _speeds_in(self, window: Window) -> Tuple[List[float], List[Speed]]:
        """The layers that a rank runs say how fast it is, and stand for those that it does not.
        First of computing as a whole: beside what the warm-up measured. A rank that shares its
        cores tells its passes with what messages take from them, and is held against both."""
        profile = self._profiles[self.plan.micro_batches]
        layers = len(self._elements)
        costs = self._costs(self.plan.micro_batches)
        levels, speeds = [], []
        for rank, stage in enumerate(window.stages):
            own = self.plan.layers_of(rank, layers)
            passed = costs.transfers(rank, own.start, own.stop) if self._shared[rank] else (0, 0)
            expected = StageSeconds(
                sum(profile.forward[rank][layer] for layer in own) + passed[0],
                sum(profile.backward[rank][layer] for layer in own) + passed[1],
                sum(self._elements[layer] for layer in own),
            )
            level, speed = speed_beside(stage, expected, self._speeds[rank])
            levels.append(level)
            speeds.append(speed)
        return levels, speeds
