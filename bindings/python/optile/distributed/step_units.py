"""A training step as units of operators that ranks run, and what a placement of them costs. Pure.

A unit is run as a whole by one rank, forward and, in the opposite order, backward. Seconds and
bytes throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .shared_cores import Need, SharedCores, Task, rates_by_place, repeated, run_tasks


@dataclass(frozen=True)
class Value:
    """A tensor that a unit makes and others read."""

    name: str  # of the operator
    producer: int
    readers: Tuple[int, ...]  # units
    bytes: int
    gradient: bool  # readers send one back


@dataclass(frozen=True)
class UnitGraph:
    """Units in an order in which each comes behind those it reads from; the last one ends with the
    loss."""

    names: Sequence[str]
    values: Sequence[Value]

    def inputs(self) -> List[List[int]]:
        """Of each unit: the values that it reads."""
        found: List[List[int]] = [[] for _ in self.names]
        for number, value in enumerate(self.values):
            for reader in value.readers:
                found[reader].append(number)
        return found

    def outputs(self) -> List[List[int]]:
        """Of each unit: the values that it makes."""
        found: List[List[int]] = [[] for _ in self.names]
        for number, value in enumerate(self.values):
            found[value.producer].append(number)
        return found


@dataclass(frozen=True)
class Link:
    """Between any two ranks."""

    latency: float = 0.0
    for_byte: float = 0.0

    def seconds(self, size: int) -> float:
        return self.latency + size * self.for_byte


@dataclass(frozen=True)
class UnitCosts:
    """What each unit takes on each rank."""

    forward: Sequence[Sequence[float]]  # [rank][unit]
    backward: Sequence[Sequence[float]]  # [rank][unit]
    link: Link
    update: Sequence[Sequence[float]]  # [rank][unit]: the optimizer, at the end of a step
    cores: Optional[SharedCores] = None  # of all replicas' ranks, where some are shared

    @property
    def ranks(self) -> int:
        return len(self.forward)

    def whole_seconds(self, rank: int) -> float:
        """This rank alone, for all units."""
        return sum(self.forward[rank]) + sum(self.backward[rank]) + sum(self.update[rank])

    def while_all_compute(self) -> "UnitCosts":
        """What each unit takes where all ranks compute all the time."""
        if self.cores is None:
            return self
        rates = rates_by_place(self.cores, self.ranks)

        def slower(seconds: Sequence[Sequence[float]]) -> List[List[float]]:
            return [[one / rate for one in of_rank] for of_rank, rate in zip(seconds, rates)]

        return UnitCosts(slower(self.forward), slower(self.backward), self.link,
                         slower(self.update))  # fmt: skip


@dataclass(frozen=True)
class Schedule:
    order: Sequence[int]  # units as they begin, those of all ranks
    seconds: float  # of a step

    def of_rank(self, owners: Sequence[int], rank: int) -> List[int]:
        """What one rank runs, one after the other."""
        return [unit for unit in self.order if owners[unit] == rank]


def _ways_to_end(graph: UnitGraph, costs: UnitCosts) -> List[float]:
    """Of each unit: the longest path to the loss, each unit on its fastest rank."""
    ways = [min(seconds) for seconds in zip(*costs.forward)]
    outputs = graph.outputs()
    for unit in reversed(range(len(ways))):
        readers = [reader for value in outputs[unit] for reader in graph.values[value].readers]
        ways[unit] += max((ways[reader] for reader in readers), default=0.0)
    return ways


class _Simulation:
    """Each rank runs one unit at a time; what is sent waits for nothing else that is sent."""

    def __init__(self, graph: UnitGraph, costs: UnitCosts, owners: Sequence[int]) -> None:
        self._graph = graph
        self._costs = costs
        self._owners = owners
        self._inputs = graph.inputs()
        self._outputs = graph.outputs()
        self._free = [0.0] * costs.ranks
        self._ends: List[Optional[float]] = [None] * len(graph.names)

    def _arrival(self, value: int, end: float, rank: int) -> float:
        one = self._graph.values[value]
        if self._owners[one.producer] == rank:
            return end
        return end + self._costs.link.seconds(one.bytes)

    def _ready(self, unit: int) -> Optional[float]:
        """When its inputs are there. None: some are not made yet."""
        latest = 0.0
        for value in self._inputs[unit]:
            end = self._ends[self._graph.values[value].producer]
            if end is None:
                return None
            latest = max(latest, self._arrival(value, end, self._owners[unit]))
        return latest

    def forward(self) -> List[int]:
        """Who may begin first begins, of several the one with the longest way to the end."""
        ways = _ways_to_end(self._graph, self._costs)
        order: List[int] = []
        ready = {unit: at for unit in range(len(ways)) if (at := self._ready(unit)) is not None}
        while ready:
            unit = min(ready, key=lambda one: (
                max(ready[one], self._free[self._owners[one]]), -ways[one], one))  # fmt: skip
            rank = self._owners[unit]
            end = max(ready.pop(unit), self._free[rank]) + self._costs.forward[rank][unit]
            self._free[rank] = self._ends[unit] = end
            order.append(unit)
            for value in self._outputs[unit]:
                for reader in self._graph.values[value].readers:
                    at = self._ready(reader) if self._ends[reader] is None else None
                    if at is not None:
                        ready[reader] = at
        return order

    def backward(self, order: Sequence[int]) -> float:
        """When the last rank has updated its weights. Gradients of a value are added up on the rank
        that read it, and sent once all that read it there are through."""
        loss = self._ends[order[-1]]
        assert loss is not None
        self._free = [max(free, loss) if rank == self._owners[order[-1]] else free
                      for rank, free in enumerate(self._free)]  # fmt: skip
        ends = [0.0] * len(order)
        for unit in reversed(order):
            ready = 0.0
            for value in self._outputs[unit]:
                one = self._graph.values[value]
                if not one.gradient:
                    continue
                for reader in one.readers:
                    sent = self._owners[reader] != self._owners[unit]
                    took = self._costs.link.seconds(one.bytes) if sent else 0.0
                    ready = max(ready, ends[reader] + took)
            rank = self._owners[unit]
            ends[unit] = max(ready, self._free[rank]) + self._costs.backward[rank][unit]
            self._free[rank] = ends[unit]
        update = [0.0] * self._costs.ranks
        for unit, rank in enumerate(self._owners):
            update[rank] += self._costs.update[rank][unit]
        return max(free + more for free, more in zip(self._free, update))


def step_tasks(
    graph: UnitGraph, costs: UnitCosts, owners: Sequence[int], order: Sequence[int]
) -> List[List[Task]]:
    """What each rank does in a step, one after the other: its units forward, in the opposite order
    backward, and the optimizer."""
    own = [[unit for unit in order if owners[unit] == rank] for rank in range(costs.ranks)]
    places = {unit: place for units in own for place, unit in enumerate(units)}
    last = {unit: 2 * len(units) - 1 - place for units in own
            for place, unit in enumerate(units)}  # fmt: skip
    needs: Dict[Tuple[int, bool], List[Need]] = {}
    for value in graph.values:
        took = costs.link.seconds(value.bytes)
        maker = value.producer
        for reader in value.readers:
            if owners[reader] == owners[maker]:
                continue
            needs.setdefault((reader, True), []).append(
                Need(owners[maker], places[maker], took))  # fmt: skip
            if value.gradient:
                needs.setdefault((maker, False), []).append(
                    Need(owners[reader], last[reader], took))  # fmt: skip
    found = []
    for rank, units in enumerate(own):
        forward = [Task(costs.forward[rank][unit], tuple(needs.get((unit, True), ())))
                   for unit in units]  # fmt: skip
        backward = [Task(costs.backward[rank][unit], tuple(needs.get((unit, False), ())))
                    for unit in reversed(units)]  # fmt: skip
        found.append([*forward, *backward, Task(sum(costs.update[rank][unit] for unit in units))])
    return found


def simulate(graph: UnitGraph, costs: UnitCosts, owners: Sequence[int]) -> Schedule:
    """A step with each unit on its owner's rank."""
    simulation = _Simulation(graph, costs, owners)
    order = simulation.forward()
    # The unit of the loss goes last on every rank's list, and first backward.
    last = len(graph.names) - 1
    order.remove(last)
    order.append(last)
    if costs.cores is not None:
        tasks = step_tasks(graph, costs, owners, order)
        ends = run_tasks(repeated(tasks, len(costs.cores) // costs.ranks), costs.cores)
        return Schedule(order, max(of_rank[-1] for of_rank in ends))
    return Schedule(order, simulation.backward(order))


def _speeds(costs: UnitCosts) -> List[float]:
    whole = [max(costs.whole_seconds(rank), 1e-12) for rank in range(costs.ranks)]
    mean = sum(whole) / len(whole)
    return [mean / seconds for seconds in whole]


class _PlaceFile:
    """Nodes and edges as `optile place` reads them (docs/reference/placement_formats.md)."""

    def __init__(self) -> None:
        self.nodes: List[Dict[str, Any]] = []
        self.edges: List[Dict[str, Any]] = []

    def node(self, name: str, unit: int, seconds: float, backward: bool, size: int = 0) -> int:
        self.nodes.append({
            "name": name, "colour": unit, "accelerator_ms": seconds * 1e3, "backward": backward,
            "output_bytes": size,
        })  # fmt: skip
        return len(self.nodes) - 1

    def edge(self, source: int, target: int, control: bool = False) -> None:
        self.edges.append({"source": source, "target": target, "control": control})


def place_file(graph: UnitGraph, costs: UnitCosts, nodes: Sequence[str]) -> Dict[str, Any]:
    """The step for `optile place`, which finds an owner for each unit; `nodes`: names of the ranks.
    A unit's forward pass is the node with its name. The command knows nothing of shared cores: it
    is told what units take while all ranks compute."""
    costs = costs.while_all_compute()
    speeds = _speeds(costs)

    def mean(seconds: Sequence[Sequence[float]], unit: int) -> float:
        return sum(one[unit] * speed for one, speed in zip(seconds, speeds)) / len(speeds)

    file = _PlaceFile()
    units = range(len(graph.names))
    forward = [file.node(graph.names[unit], unit, mean(costs.forward, unit), False)
               for unit in units]  # fmt: skip
    backward = [file.node(graph.names[unit] + "_backward", unit,
                          mean(costs.backward, unit) + mean(costs.update, unit), True)
                for unit in units]  # fmt: skip
    for unit in units:
        file.edge(forward[unit], backward[unit], control=True)
    file.edge(forward[-1], backward[-1])
    for value in graph.values:
        made = file.node(value.name + "_value", value.producer, 0.0, False, value.bytes)
        file.edge(forward[value.producer], made)
        for reader in value.readers:
            file.edge(made, forward[reader])
            if value.gradient:
                back = file.node(f"{value.name}_gradient_{reader}", reader, 0.0, True, value.bytes)
                file.edge(backward[reader], back)
                file.edge(back, backward[value.producer])
    return {
        "nodes": file.nodes,
        "edges": file.edges,
        "cluster": {
            "devices": [{"name": name, "speed": speed} for name, speed in zip(nodes, speeds)],
            "bytes_per_second": 1 / max(costs.link.for_byte, 1e-12),
            "latency_ms": costs.link.latency * 1e3,
        },
    }


def owners_of(answer: Any, graph: UnitGraph, ranks: int) -> List[int]:
    """The rank of each unit, as an answer of `optile place --json` says. Raises ValueError for one
    that is of another graph, or of more devices than there are ranks."""
    told = answer if isinstance(answer, dict) else {}
    names, assignment = told.get("nodes"), told.get("assignment")
    if (
        not isinstance(names, list) or not isinstance(assignment, list)
        or not all(isinstance(name, str) for name in names)
    ):  # fmt: skip
        raise ValueError("it is no answer of `optile place ... --json`: it has no assignment")
    if len(names) != len(assignment):
        raise ValueError("its nodes and its assignment are not of one length")
    found = dict(zip(names, assignment))
    absent = [name for name in graph.names if name not in found]
    if absent:
        raise ValueError(f"it is of another model: it does not place {absent[0]}")
    owners = [found[name] for name in graph.names]
    wrong = [one for one in owners if not isinstance(one, int) or not 0 <= one < ranks]
    if wrong:
        raise ValueError(f"it places on device {wrong[0]}, and there are {ranks} ranks")
    return owners
