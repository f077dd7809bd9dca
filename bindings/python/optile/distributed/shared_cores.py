"""Ranks that share cores, and how long a step takes them. Pure.

A rank's work is in seconds that it takes with its cores to itself. While several ranks compute on
a core each has an equal part of it; a rank that waits for a message leaves it to the others. This
is what every plan's simulated step knows of cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple


@dataclass(frozen=True)
class RankCores:
    host: str  # whose kernel numbers them
    cores: Tuple[int, ...]  # that the rank may use
    threads: int  # that compute

    @property
    def wanted(self) -> float:
        """Of each of them, 1 at most, while it computes."""
        return min(1.0, self.threads / max(1, len(self.cores)))

    @property
    def used(self) -> int:
        """At once."""
        return max(1, min(self.threads, len(self.cores)))


class SharedCores:
    def __init__(self, every: Sequence[RankCores]) -> None:
        """Of all ranks of the job."""
        self._every = every
        self._known: Dict[FrozenSet[int], List[float]] = {}
        full = self.rates(frozenset(range(len(every))))
        self.rates_together = full  # of each rank, while all of them compute
        self.any = min(full, default=1.0) < 1.0

    def __len__(self) -> int:
        return len(self._every)

    def shares(self, rank: int) -> bool:
        """Whether it gets less than it can use, while all compute."""
        return self.rates_together[rank] < 1.0

    def used(self, rank: int) -> int:
        """How many cores it computes on at once."""
        return self._every[rank].used

    def rates(self, computing: FrozenSet[int]) -> List[float]:
        """How fast each of these ranks computes beside the others, 0 to 1; 0 for all others."""
        known = self._known.get(computing)
        if known is None:
            known = self._known[computing] = self._rates(computing)
        return known

    def _rates(self, computing: FrozenSet[int]) -> List[float]:
        wanted: Dict[Tuple[str, int], float] = {}
        for rank in computing:
            one = self._every[rank]
            for core in one.cores:
                wanted[one.host, core] = wanted.get((one.host, core), 0.0) + one.wanted
        found = [0.0] * len(self._every)
        for rank in computing:
            one = self._every[rank]
            parts = [1 / max(1.0, wanted[one.host, core]) for core in one.cores]
            found[rank] = sum(parts) / len(parts) if parts else 1.0
        return found


def with_messages(passes: float, forward: float, backward: float) -> Tuple[float, float]:
    """Both, with their part of what else the processor did in the passes: messages."""
    factor = passes / (forward + backward) if forward + backward > 0 else 1.0
    return forward * max(1.0, factor), backward * max(1.0, factor)


class Need(NamedTuple):
    """A task waits for the end of another rank's, and for what a message takes behind it."""

    rank: int
    task: int  # which one of that rank
    seconds: float = 0.0


class Task(NamedTuple):
    seconds: float  # of work
    needs: Tuple[Need, ...] = ()


class _Run:
    """Each rank runs its tasks one after the other."""

    def __init__(self, tasks: Sequence[Sequence[Task]], cores: SharedCores) -> None:
        self._tasks = tasks
        self._cores = cores
        self._now = 0.0
        self._left: Dict[int, float] = {}  # work of what runs, by its rank
        self.ends: List[List[float]] = [[] for _ in tasks]

    def _ready(self, rank: int) -> Optional[float]:
        """When its next task may begin. None: not known yet, or there is none."""
        number = len(self.ends[rank])
        if number == len(self._tasks[rank]):
            return None
        latest = 0.0
        for need in self._tasks[rank][number].needs:
            ends = self.ends[need.rank]
            if need.task >= len(ends):
                return None
            latest = max(latest, ends[need.task] + need.seconds)
        return latest

    def _begin(self) -> float:
        """Whatever may begin now; when the next of the others may."""
        soonest = float("inf")
        for rank in range(len(self._tasks)):
            if rank in self._left or (at := self._ready(rank)) is None:
                continue
            if at <= self._now:
                self._left[rank] = self._tasks[rank][len(self.ends[rank])].seconds
            else:
                soonest = min(soonest, at)
        return soonest

    def run(self) -> None:
        while True:
            soonest = self._begin()
            rates = self._cores.rates(frozenset(self._left))
            ends = {rank: self._now + left / rates[rank] for rank, left in self._left.items()}
            then = min([soonest, *ends.values()])
            if then == float("inf"):
                break
            for rank, end in ends.items():
                if end <= then:
                    del self._left[rank]
                    self.ends[rank].append(then)
                else:
                    self._left[rank] -= (then - self._now) * rates[rank]
            self._now = then
        assert all(len(ends) == len(tasks) for ends, tasks in zip(self.ends, self._tasks))


def run_tasks(tasks: Sequence[Sequence[Task]], cores: SharedCores) -> List[List[float]]:
    """When each task of each rank ends. Each can be reached: none waits for itself."""
    run = _Run(tasks, cores)
    run.run()
    return run.ends


def repeated(tasks: Sequence[Sequence[Task]], replicas: int) -> List[List[Task]]:
    """Of as many replicas of these ranks, one behind the other, which do the same at once."""
    ranks = len(tasks)
    return [
        [Task(one.seconds, tuple(need._replace(rank=need.rank + number * ranks)
                                 for need in one.needs)) for one in of_rank]
        for number in range(replicas) for of_rank in tasks
    ]  # fmt: skip


def rates_by_place(cores: SharedCores, ranks: int) -> List[float]:
    """While all compute: of each of so many places in a replica, the slowest replica's."""
    return [min(cores.rates_together[place::ranks]) for place in range(ranks)]
