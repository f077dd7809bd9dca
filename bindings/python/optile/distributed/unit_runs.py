"""Running units of a traced model, forward and backward, apart from each other: what goes from one
part of a step to another is cut out of autograd's graph, so that it may come from another rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence

import torch
from torch import nn

from .layers import Clock, LossFunction, with_restored
from .stages import profile_of
from .traced import Node, OperatorRunner, TracedUnits

_ROUNDS = 4  # of a warm-up; the first one, with other memory, does not count


@dataclass(frozen=True)
class Part:
    """Units that run one behind the other."""

    nodes: Sequence[Node]
    reads: Sequence[Node]  # tensors that come from elsewhere
    makes: FrozenSet[Node]  # tensors that are read elsewhere


@dataclass
class PartRun:
    """Of one part, between its forward and its backward pass."""

    read: Dict[Node, torch.Tensor]  # as it was given them: their gradients are of this part alone
    made: Dict[Node, torch.Tensor]  # what other parts read
    loss: Optional[torch.Tensor]

    def backward(self, gradients: Mapping[Node, torch.Tensor]) -> Dict[Node, torch.Tensor]:
        """`gradients`: of all that was made and asks for one. Those of what was read."""
        ends = [one for one in self.made.values() if one.requires_grad]
        given: List[Optional[torch.Tensor]] = [
            gradients[node] for node, one in self.made.items() if one.requires_grad
        ]
        if self.loss is not None and self.loss.requires_grad:
            ends.append(self.loss)
            given.append(None)
        if ends:
            torch.autograd.backward(ends, given)
        wanted = {node: one for node, one in self.read.items() if one.requires_grad}
        return {node: torch.zeros_like(one) if one.grad is None else one.grad
                for node, one in wanted.items()}  # fmt: skip


class UnitRunner:
    def __init__(self, units: TracedUnits, loss_fn: LossFunction) -> None:
        self._units = units
        self._loss_fn = loss_fn
        self._runner = OperatorRunner(units.traced)
        self._passed = {one.node: one for one in units.passed}

    def part(self, units: Sequence[int]) -> Part:
        nodes = [node for unit in units for node in self._units.units[unit]]
        own = set(nodes)
        reads = {source: None for node in nodes for source in node.all_input_nodes
                 if source in self._passed and source not in own}  # fmt: skip
        makes = [node for node in nodes
                 if node in self._passed and not own.issuperset(self._passed[node].readers)]
        return Part(nodes, list(reads), frozenset(makes))

    def run(
        self, part: Part, starting: Mapping[Node, Any],
        values: Mapping[Node, torch.Tensor], y: Any,
    ) -> PartRun:  # fmt: skip
        """`starting`: what every rank has; `values`: at least what the part reads."""
        read = {
            node: values[node].detach().requires_grad_(self._passed[node].layout.requires_grad)
            for node in part.reads
        }
        seen: Dict[Node, Any] = {**starting, **read}
        made: Dict[Node, torch.Tensor] = {}
        loss = None
        for node in part.nodes:
            seen[node] = self._runner.run(node, seen)
            if node.op == "output":
                loss = self._loss_fn(seen[node], y)
            elif node in part.makes:
                made[node] = seen[node]
        return PartRun(read, made, loss)

    def probe(self, unit: int, x: Any, y: Any) -> None:
        """The unit's forward pass alone, whatever it is given; nothing is changed by it."""
        part = self.part([unit])
        layouts = {node: self._passed[node].layout for node in part.reads}
        values = {node: torch.zeros(one.shape, dtype=one.dtype) for node, one in layouts.items()}
        starting = self._units.starting_values(x)
        held = self._units.held_by(unit)
        with_restored(held.buffers(), lambda: self.run(part, starting, values, y))


@dataclass(frozen=True)
class UnitProfile:
    """What this rank measured of each unit, in seconds."""

    forward: Sequence[float]
    backward: Sequence[float]
    loss_dtype: torch.dtype


class _Round:
    """Each unit once, forward and at once backward."""

    def __init__(self, runner: UnitRunner, units: TracedUnits, clock: Clock) -> None:
        self._runner = runner
        self._units = units
        self._clock = clock
        self.forward: List[float] = []
        self.backward: List[float] = []
        self.loss_dtype = torch.float32

    def run(self, x: Any, y: Any) -> None:
        starting = self._units.starting_values(x)
        values: Dict[Node, torch.Tensor] = {}
        for unit in range(len(self._units.units)):
            part = self._runner.part([unit])
            begin = self._clock()
            ran = self._runner.run(part, starting, values, y)
            self.forward.append(self._clock() - begin)
            values.update({node: one.detach() for node, one in ran.made.items()})
            if ran.loss is not None:
                self.loss_dtype = ran.loss.dtype
            self.backward.append(self._backward_seconds(ran, unit))

    def _backward_seconds(self, ran: PartRun, unit: int) -> float:
        ends = [one for one in (*ran.made.values(), ran.loss)
                if one is not None and one.requires_grad]  # fmt: skip
        held = self._units.held_by(unit).parameters()
        wanted = [one for one in (*ran.read.values(), *held) if one.requires_grad]
        if not ends or not wanted:
            return 0.0
        gradients = [torch.ones_like(one) for one in ends]
        begin = self._clock()
        torch.autograd.grad(ends, wanted, gradients, allow_unused=True)
        return self._clock() - begin


def measure_units(
    model: nn.Module, units: TracedUnits, loss_fn: LossFunction, x: Any, y: Any, clock: Clock
) -> UnitProfile:
    """Runs every unit a few times. The model is as before."""
    runner = UnitRunner(units, loss_fn)
    rounds = []

    def run() -> None:
        for _ in range(_ROUNDS):
            rounds.append(_Round(runner, units, clock))
            rounds[-1].run(x, y)

    with_restored(model.buffers(), run)
    return UnitProfile(
        profile_of([one.forward for one in rounds[1:]]),
        profile_of([one.backward for one in rounds[1:]]),
        rounds[0].loss_dtype,
    )
