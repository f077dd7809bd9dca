"""Operators on ranks: each rank runs the units of a step that a placement gives it, and what others
read of them goes to their ranks while it computes on. The backward pass goes the opposite way.
"""

from __future__ import annotations

import json
import os
import pathlib
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch
import torch.distributed as dist
from torch import nn

from .assistants import Resources
from .changes import WindowMedians
from .corrections import AssistedCorrection, Correction, SearchCorrection
from .job import Job
from .kept_layers import KeptLayers
from .layers import Clock, LossFunction
from .links import measured_copy, measured_link
from .moves import Broadcast, forget_layer, move_layers, pass_layer
from .place_command import place
from .placements import Placement, PlacementController
from .plan_asking import Verdict
from .plan_record import PlanInForce, RankTimes, rank_times
from .plan_telling import PlanTeller, node_name
from .rank_cores import computing_clock, gather_cores, shares_cores
from .ranks import gather_numbers, gather_objects, ranks_unlike_first
from .replicas import Replicas
from .shared_cores import SharedCores, with_messages
from .stages import StageSeconds, Window
from .step_units import Link, UnitCosts, UnitGraph, Value, owners_of, place_file
from .traced import HeldTensors, Node, TracedUnits, find_units, tensors_in
from .unit_runs import PartRun, UnitProfile, UnitRunner, measure_units


def divide_into_parts(
    order: Sequence[int], owners: Sequence[int], graph: UnitGraph, rank: int
) -> List[List[int]]:
    """What the rank runs without a word to others in between: a part begins where something is
    received, and ends where something is sent."""
    inputs, outputs = graph.inputs(), graph.outputs()
    parts: List[List[int]] = []
    open_part = False
    for unit in order:
        if owners[unit] != rank:
            continue
        receives = any(owners[graph.values[one].producer] != rank for one in inputs[unit])
        sends = any(owners[reader] != rank
                    for one in outputs[unit] for reader in graph.values[one].readers)  # fmt: skip
        if receives or not open_part:
            parts.append([])
        parts[-1].append(unit)
        open_part = not sends
    return parts


@dataclass(frozen=True)
class _Transfers:
    """Of one value, as this rank has to do with it."""

    source: Optional[int]  # it is received from there
    to: Sequence[int]  # it is sent there; gradients come back


class StepRunner:
    """One step under one placement, on this rank. Everything is received as early as there is room
    for it, so that no two ranks wait for each other."""

    def __init__(
        self, units: TracedUnits, graph: UnitGraph, loss_fn: LossFunction, parts: List[List[int]],
        owners: Sequence[int], rank: int, clock: Clock,
    ) -> None:  # fmt: skip
        self._units = units
        self.units = UnitRunner(units, loss_fn)
        self._parts = [self.units.part(one) for one in parts]
        self._first_reads = self._find_first_reads()
        self._clock = clock
        self._transfers: Dict[Node, _Transfers] = {}
        self._tags = {one.node: number for number, one in enumerate(units.passed)}
        self._layouts = {one.node: one.layout for one in units.passed}
        for one, value in zip(units.passed, graph.values):
            owner = owners[value.producer]
            elsewhere = sorted({owners[reader] for reader in value.readers} - {owner})
            if owner == rank and elsewhere:
                self._transfers[one.node] = _Transfers(None, elsewhere)
            elif owner != rank and rank in elsewhere:
                self._transfers[one.node] = _Transfers(owner, ())
        self.forward_seconds = 0.0
        self.backward_seconds = 0.0

    def run(self, x: Any, y: Any) -> Optional[torch.Tensor]:
        """Forward and backward. The loss, on the rank that has it."""
        self.forward_seconds = self.backward_seconds = 0.0
        sent: List[Any] = []
        runs = self._forward(x, y, sent)
        self._backward(runs, sent)
        for one in sent:
            one[0].wait()
        return next((run.loss.detach() for run in runs if run.loss is not None), None)

    def _receive(self, node: Node, source: int, tag: int) -> Tuple[Any, torch.Tensor]:
        layout = self._layouts[node]
        room = torch.empty(layout.shape, dtype=layout.dtype)
        return dist.irecv(room, source, tag=tag), room

    def _forward(self, x: Any, y: Any, sent: List[Any]) -> List[PartRun]:
        awaited = {node: self._receive(node, one.source, self._tags[node])
                   for node, one in self._transfers.items() if one.source is not None}  # fmt: skip
        values: Dict[Node, torch.Tensor] = {}
        starting = self._units.starting_values(x)
        runs = []
        for part in self._parts:
            for node in part.reads:
                if node not in values:
                    work, values[node] = awaited[node]
                    work.wait()
            begin = self._clock()
            ran = self.units.run(part, starting, values, y)
            self.forward_seconds += self._clock() - begin
            runs.append(ran)
            for node, tensor in ran.made.items():
                values[node] = tensor.detach()
                for rank in self._transfers[node].to if node in self._transfers else ():
                    passed = values[node].contiguous()
                    sent.append((dist.isend(passed, rank, tag=self._tags[node]), passed))
        return runs

    def _backward(self, runs: List[PartRun], sent: List[Any]) -> None:
        awaited = {
            node: [self._receive(node, rank, len(self._tags) + self._tags[node])
                   for rank in one.to]
            for node, one in self._transfers.items()
            if one.to and self._layouts[node].requires_grad
        }  # fmt: skip
        sums: Dict[Node, torch.Tensor] = {}
        for number in reversed(range(len(runs))):
            ran = runs[number]
            for node, tensor in ran.made.items():
                if not tensor.requires_grad:
                    continue
                for work, room in awaited.get(node, ()):
                    work.wait()
                    sums[node] = sums[node] + room if node in sums else room
            begin = self._clock()
            gradients = ran.backward(sums)
            self.backward_seconds += self._clock() - begin
            for node, gradient in gradients.items():
                sums[node] = sums[node] + gradient if node in sums else gradient
                one = self._transfers.get(node)
                if one is None or one.source is None or node not in self._first_reads[number]:
                    continue
                passed = sums[node].contiguous()
                tag = len(self._tags) + self._tags[node]
                sent.append((dist.isend(passed, one.source, tag=tag), passed))

    def _find_first_reads(self) -> List[Set[Node]]:
        """Of each part: what no earlier part of this rank reads; backward, it is the last one to
        add to that gradient."""
        seen: Set[Node] = set()
        found: List[Set[Node]] = []
        for part in self._parts:
            found.append(set(part.reads) - seen)
            seen |= set(part.reads)
        return found


def _shapes_of(batch: Any) -> List[Tuple[int, ...]]:
    return [tuple(one.shape) for one in tensors_in(batch)]


def graph_of(units: TracedUnits) -> UnitGraph:
    unit_of = {node: number for number, unit in enumerate(units.units) for node in unit}
    values = []
    for one in units.passed:
        producer = unit_of[one.node]
        readers = sorted({unit_of[reader] for reader in one.readers} - {producer})
        values.append(Value(one.node.name, producer, tuple(readers), one.layout.bytes(),
                            one.layout.requires_grad))  # fmt: skip
    return UnitGraph([unit[0].name for unit in units.units], values)


def costs_of(
    graph: UnitGraph, profile: UnitProfile, replicas: Replicas, clock: Clock,
    cores: Optional[SharedCores],
) -> UnitCosts:  # fmt: skip
    """Collective: what all ranks measured; of each place in a replica the slowest."""
    largest = max((one.bytes for one in graph.values), default=1)
    link = measured_link(replicas, largest, clock)
    every = gather_objects((link, profile.forward, profile.backward))
    slowest = Link(max(one[0][0] for one in every), max(one[0][1] for one in every))
    none = [[0.0] * len(graph.names)] * replicas.ranks
    forward, backward = (replicas.slowest([one[way] for one in every]) for way in (1, 2))
    return UnitCosts(forward, backward, slowest, none, cores)


class PlacementTraining:
    """One model of all ranks of a replica, of which each runs some operators. All replicas have the
    same plan: it is decided by the slowest rank at each place."""

    def __init__(
        self, job: Job, placement: Optional[str], replicas: Replicas, assisted: bool = False
    ) -> None:
        """The job's example is of one replica."""
        self.model = job.model
        self._optimizer = job.optimizer
        self._loss_fn = job.loss_fn
        self._clock = job.clock
        self._cores = gather_cores(job.clock)
        self._computing_clock = computing_clock(job.clock, self._cores)
        self._replicas = replicas
        self._rank, self._ranks = replicas.rank, replicas.ranks
        self._units = find_units(job.model, job.example[0])
        self._graph = graph_of(self._units)
        self._shapes = _shapes_of(job.example)
        self._check_ranks_agree(placement)
        self._held = [self._units.held_by(unit) for unit in range(len(self._units.units))]
        self._kept = KeptLayers(self._held, job)
        self.steps = self._kept.begin()
        pass_layer(self._unused(job.model), job.optimizer, Broadcast(0))
        self._nodes = gather_objects(node_name())
        costs = self._measured(job)
        elements = [sum(one.numel() for one in held.parameters()) for held in self._held]
        self.controller = PlacementController(
            self._graph, costs, elements, self._first_placement(costs, placement),
            placement is not None,
        )
        self._medians = WindowMedians()
        self._last_seconds = 0.0
        self._correction = self._begin_correction(assisted, elements)
        self._teller = PlanTeller(self._nodes, dist.get_rank())
        self._build()
        self._tell([], None)
        for unit, held in enumerate(self._held):
            if unit not in self._own:
                forget_layer(held, job.optimizer)

    def _begin_correction(self, assisted: bool, elements: Sequence[int]) -> Optional[Correction]:
        """Collective; of rank 0."""
        search = None
        if dist.get_rank() == 0:
            search = SearchCorrection(self.controller, self._graph, self._nodes)
        if not assisted:
            return search
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        every = gather_objects((measured_copy(self._clock), free))
        resources = Resources([seconds for seconds, _ in every], [free for _, free in every])
        if search is None:
            return None
        return AssistedCorrection(search, self.controller, self._graph, elements, resources)

    def _check_ranks_agree(self, placement: Optional[str]) -> None:
        described = ([[node.name for node in unit] for unit in self._units.units],
                     [(one.node.name, one.layout) for one in self._units.passed],
                     placement is None)  # fmt: skip
        if others := ranks_unlike_first(described):
            raise RuntimeError(
                f"rank {dist.get_rank()}: ranks {others} run other operators, or have batches of "
                "another size, than rank 0, or only some were given a placement; start every rank "
                "with the same program and options"
            )

    def _unused(self, model: nn.Module) -> HeldTensors:
        """What no operator reads: no rank trains it, and every rank has rank 0's."""
        read = {id(one) for held in self._held for one in (*held.parameters(), *held.buffers())}
        unused = HeldTensors()
        for one in (*model.parameters(), *model.buffers()):
            if id(one) not in read:
                unused.add(one)
        return unused

    def _measured(self, job: Job) -> UnitCosts:
        """Collective: what all ranks measured."""
        profile = measure_units(job.model, self._units, job.loss_fn, *job.example,
                                self._computing_clock)  # fmt: skip
        self._loss_dtype = profile.loss_dtype
        return costs_of(self._graph, profile, self._replicas, self._computing_clock,
                        self._cores)  # fmt: skip

    def _first_placement(self, costs: UnitCosts, placement: Optional[str]) -> Placement:
        """Collective. Rank 0 finds it; where it fails, every rank ends with its message."""
        found: Tuple[List[int], str] = ([], "")
        if dist.get_rank() == 0:
            try:
                answer = (
                    place(place_file(self._graph, costs, self._nodes)) if placement is None
                    else json.loads(pathlib.Path(placement).read_text(encoding="utf-8"))
                )  # fmt: skip
                found = (owners_of(answer, self._graph, self._ranks), "")
            except (OSError, RuntimeError, ValueError) as error:
                named = "" if placement is None else f"placement {placement}: "
                found = ([], named + str(error))
        owners, message = Broadcast(0).pass_object(found)
        if message:
            raise RuntimeError(message)
        return Placement(tuple(owners))

    def _build(self) -> None:
        """What this rank does under the placement in force."""
        order, owners = self.controller.schedule.order, self.controller.plan.owners
        self._own = [unit for unit, owner in enumerate(owners) if owner == self._rank]
        parts = divide_into_parts(order, owners, self._graph, self._rank)
        self._runner = StepRunner(self._units, self._graph, self._loss_fn, parts,
                                  self._replicas.job_ranks(owners), dist.get_rank(),
                                  self._computing_clock)  # fmt: skip
        self._trained = [one for unit in self._own for one in self._held[unit].parameters()]
        self._exchange_seconds = self._replicas.measured_exchange(self._trained, self._clock)
        self._loss_owner = owners[-1]
        self._probed = self.controller.probe_of(self._rank)
        self._probe_seconds = 0.0

    def run_passes(self, x: Any, y: Any) -> Optional[torch.Tensor]:
        """Forward and backward, for the rows of this replica. The loss, on the rank that has it."""
        runner = self._runner
        begin = self._computing_clock()
        loss = runner.run(x, y)
        if shares_cores(self._cores):
            runner.forward_seconds, runner.backward_seconds = with_messages(
                self._computing_clock() - begin, runner.forward_seconds, runner.backward_seconds
            )
        return loss

    def step(self, x: Any, y: Any) -> torch.Tensor:
        x, y = self._replicas.rows_of((x, y))
        if (shapes := _shapes_of((x, y))) != self._shapes:
            raise ValueError(f"a batch of shapes {shapes}, where the example had {self._shapes}")
        self._kept.keep(self.steps, self._last_seconds, self._own)
        begin = self._clock()
        self._optimizer.zero_grad(set_to_none=True)
        loss = self.run_passes(x, y)
        self._probe(x, y)
        if loss is None:
            loss = torch.empty((), dtype=self._loss_dtype)
        updating = self._replicas.update(loss, self._loss_owner, self._trained, self._optimizer,
                                         self._computing_clock)  # fmt: skip
        self.steps += 1
        self._last_seconds = self._clock() - begin
        forward = self._runner.forward_seconds if self._probed is None else self._probe_seconds
        self._note((forward, self._runner.backward_seconds, updating, self._last_seconds))
        return loss

    def _probe(self, x: Any, y: Any) -> None:
        """Once a window, while others compute or wait."""
        if self._probed is None or self.steps % WindowMedians.STEPS > 0:
            return
        begin = self._computing_clock()
        self._runner.units.probe(self._probed, x, y)
        self._probe_seconds = self._computing_clock() - begin

    def _note(self, seconds: Tuple[float, float, float, float]) -> None:
        self._teller.poll()
        medians = self._medians.add(seconds)
        if medians is None:
            return
        found = self._correction.found() if self._correction is not None else None
        searches = self._correction is not None and self._correction.searching
        every = gather_numbers([*medians, float(found is not None), float(searches),
                                self._teller.verdict()])  # fmt: skip
        searching = every[0][5] > 0
        if every[0][4] > 0:
            found = Broadcast(0).pass_object(found)
        stages = [StageSeconds(*one[:3]) for one in every]
        window = Window(self._replicas.slowest_stages(stages), max(one[3] for one in every))
        before = self.controller.plan
        changed = self.controller.add(window, self.steps, found, searching,
                                      Verdict(int(every[0][-1])))  # fmt: skip
        if changed:
            self._medians.begin_plan()
            self._teller.changed(self.steps)
        times = rank_times(
            [sum(one) for one in stages], window.step_seconds,
            self._replicas.whole_seconds(stages, self.controller.whole_seconds()),
        )  # fmt: skip
        self._tell(times, None if changed else window.step_seconds)
        if changed:
            owners = (self._replicas.job_ranks(plan.owners)
                      for plan in (before, self.controller.plan))  # fmt: skip
            move_layers(self._held, *owners, self._optimizer)
            self._build()
        if self._correction is not None:
            self._correction.end_window(changed, window.stages)

    def _tell(self, times: List[RankTimes], measured_seconds: Optional[float]) -> None:
        if dist.get_rank() > 0:
            return
        plan = PlanInForce(
            self.controller.plan, predicted_seconds=self._predicted_seconds,
            measured_seconds=measured_seconds, replicas=self._replicas.count,
        )  # fmt: skip
        self._teller.tell(self.steps, plan, times, self.controller.changes,
                          self.controller.proposed)  # fmt: skip

    @property
    def _predicted_seconds(self) -> float:
        return self.controller.predicted_seconds + self._exchange_seconds

    def tell_choice(self, choice: str) -> None:
        self._teller.choice = choice

    def gather_model(self) -> None:
        """Every unit's weights, with the optimizer's state, from its rank to all."""
        for held, owner in zip(self._held, self.controller.plan.owners):
            pass_layer(held, self._optimizer, Broadcast(owner))

    def save_graph(self, path: str) -> None:
        """For `optile place step`: units, as fast as they are lately, and the ranks."""
        file = place_file(self._graph, self.controller.costs(), self._nodes)
        pathlib.Path(path).write_text(json.dumps(file) + "\n", encoding="utf-8")

    def report(self) -> Dict[str, Any]:
        owners = self.controller.plan.owners
        return {
            "rank": dist.get_rank(),
            "steps": self.steps,
            **self._replicas.report(),
            **self._kept.report(),
            "placement": dict(zip(self._graph.names, owners)),
            "alone_seconds": self.controller.whole_seconds(),
            "predicted_seconds": self._predicted_seconds,
            "measured_seconds": self.controller.measured_seconds,
            "changes": [asdict(one) for one in self.controller.changes],
            "publication": self._teller.publication,
            **(self._correction.report() if self._correction is not None else {}),
        }
