"""Running layers that are divided over ranks: what goes between ranks where the parts of a layer
and of its reader are not the same, weights of which a rank holds a part, and gradients that ranks
with the same weights add up.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import nn

from ..layers import Clock
from ..traced import Node, OperatorRunner
from .layers import SplitLayers
from .splits import BATCH, Box, Split, SplitModel, pieces, sharing_ranks

_LARGE = 1 << 14  # elements of a gradient that is added up by itself, while others are computed


def part_of(tensor: torch.Tensor, box: Box, origin: Box) -> torch.Tensor:
    """A view; `origin`: what the tensor is of the whole."""
    rows = tensor.narrow(0, box.rows.begin - origin.rows.begin, box.rows.length)
    if tensor.dim() < 2 or box.channels == origin.channels:
        return rows
    return rows.narrow(1, box.channels.begin - origin.channels.begin, box.channels.length)


class Waiting:
    """How long this rank has moved tensors and waited for others."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = 0.0


class Exchange:
    """Of one tensor between a layer and one of its readers, collective; the gradient goes back."""

    def __init__(
        self, have: Sequence[Box], need: Sequence[Box], rank: int, tag: int, waiting: Waiting
    ) -> None:
        found = pieces(have, need)
        self._have, self._need = have[rank], need[rank]
        self._own = next((one.box for one in found if one.source == one.to == rank), None)
        self._gets = [(one.source, one.box) for one in found
                      if one.to == rank and one.source != rank]  # fmt: skip
        self._sends = [(one.to, one.box) for one in found
                       if one.source == rank and one.to != rank]  # fmt: skip
        self._tag = tag
        self._waiting = waiting
        self._nothing_to_do = list(have) == list(need)

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._nothing_to_do:
            return tensor
        moved = _Moved.apply(tensor, self)
        assert isinstance(moved, torch.Tensor)
        return moved

    @staticmethod
    def _shape(like: torch.Tensor, box: Box) -> Tuple[int, ...]:
        return (box.rows.length, box.channels.length, *like.shape[2:])

    def _pass(
        self, tensor: torch.Tensor, origin: Box, tag: int,
        gets: Sequence[Tuple[int, Box]], sends: Sequence[Tuple[int, Box]],
    ) -> List[Tuple[Box, torch.Tensor]]:  # fmt: skip
        """Sends parts of the tensor, and gives what has arrived."""
        arrived = [(box, tensor.new_empty(self._shape(tensor, box))) for _, box in gets]
        works = [dist.irecv(room, source, tag=tag)
                 for (source, _), (_, room) in zip(gets, arrived)]  # fmt: skip
        passed = [part_of(tensor, box, origin).contiguous() for _, box in sends]
        works += [dist.isend(one, to, tag=tag) for (to, _), one in zip(sends, passed)]
        for work in works:
            work.wait()
        return arrived

    def forward(self, tensor: torch.Tensor) -> torch.Tensor:
        begin = self._waiting.clock()
        made = tensor.new_empty(self._shape(tensor, self._need))
        if self._own is not None:
            part_of(made, self._own, self._need).copy_(part_of(tensor, self._own, self._have))
        for box, room in self._pass(tensor, self._have, self._tag, self._gets, self._sends):
            part_of(made, box, self._need).copy_(room)
        self._waiting.seconds += self._waiting.clock() - begin
        return made

    def backward(self, gradient: torch.Tensor) -> torch.Tensor:
        """The sum of the gradients of all that have read what this rank computed."""
        begin = self._waiting.clock()
        shape = self._shape(gradient, self._have)
        if self._own == self._have:
            total = part_of(gradient, self._own, self._need).clone(
                memory_format=torch.contiguous_format
            )
        else:
            total = gradient.new_zeros(shape)
            if self._own is not None:
                part_of(total, self._own, self._have).add_(part_of(gradient, self._own, self._need))
        for box, room in self._pass(gradient, self._need, self._tag + 1, self._sends, self._gets):
            part_of(total, box, self._have).add_(room)
        self._waiting.seconds += self._waiting.clock() - begin
        return total


class _Moved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, exchange: Exchange) -> torch.Tensor:
        ctx.exchange = exchange
        return exchange.forward(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Tuple[torch.Tensor, None]:
        return ctx.exchange.backward(gradients[0]), None


class LayerRunner:
    """The forward pass of this rank's parts; autograd finds the way back."""

    def __init__(
        self, layers: SplitLayers, splits: Sequence[Split], rank: int, clock: Clock
    ) -> None:
        self._layers = layers
        self._rank = rank
        self._splits = splits
        self._runner = OperatorRunner(layers.traced)
        self._inputs = [layers.inputs(number) for number in range(len(layers.layers))]
        self.waiting = Waiting(clock)
        self._exchanges = self._make_exchanges()

    def _make_exchanges(self) -> Dict[Tuple[Node, int], Exchange]:
        """By what is read and by whom; readers that need the same share one."""
        known: Dict[Tuple[Node, Tuple[Box, ...]], Exchange] = {}
        found = {}
        for reader, inputs in enumerate(self._inputs):
            for node, of in inputs:
                if of == BATCH:
                    continue
                have, need = self._layers.model.boxes(of, reader, self._splits[of],
                                                      self._splits[reader])  # fmt: skip
                key = (node, tuple(need))
                if key not in known:
                    known[key] = Exchange(have, need, self._rank, 2 * len(known), self.waiting)
                found[node, reader] = known[key]
        return found

    def starting_values(self, x: torch.Tensor) -> Dict[Node, Any]:
        values: Dict[Node, Any] = {self._layers.batch: x}
        for node in self._layers.everywhere:
            values[node] = self._runner.run(node, values)
        return values

    def of_batch(self, x: torch.Tensor, reader: int, split: Split) -> torch.Tensor:
        """What the rank reads of the batch."""
        model = self._layers.model
        box = model.input_box(model.layers[reader], split, self._rank, BATCH)
        whole = model.input_box(model.layers[reader], Split(1), self._rank, BATCH)
        return part_of(x, box, whole)

    def run_layer(self, number: int, seen: Dict[Node, Any]) -> Any:
        """`seen`: what it reads, and afterwards what it made."""
        made = None
        for node in self._layers.layers[number].nodes:
            made = seen[node] = self._runner.run(node, seen)
        return made

    def outputs(self, x: torch.Tensor) -> torch.Tensor:
        """The model's, for the rank's rows."""
        values = self.starting_values(x)
        moved: Dict[Exchange, torch.Tensor] = {}
        for number, inputs in enumerate(self._inputs):
            seen = dict(values)
            for node, of in inputs:
                if of == BATCH:
                    seen[node] = self.of_batch(x, number, self._splits[number])
                    continue
                exchange = self._exchanges[node, number]
                if exchange not in moved:
                    moved[exchange] = exchange(values[node])
                seen[node] = moved[exchange]
            made = self.run_layer(number, seen)
            values.update({one: seen[one] for one in self._layers.layers[number].nodes})
        assert isinstance(made, torch.Tensor)
        return made


def check_no_graph(tensor: torch.Tensor) -> None:
    """Autograd takes a gradient of the new shape only where no graph of before is left."""
    if not tensor.requires_grad:
        return
    with torch.enable_grad():
        function = tensor.view_as(tensor).grad_fn
    assert function is not None
    known = getattr(function.next_functions[0][0], "_input_metadata", None)
    if known and tuple(known[0].shape) != tuple(tensor.shape):
        raise RuntimeError(
            "an output or a loss of the model that was computed before is still held with its "
            "gradient function, and weights cannot be divided meanwhile: let go of it, or compute "
            "it under torch.no_grad()"
        )


class DividedTensors:
    """Of layers whose channels are divided this rank holds its own part of weights, of the like
    buffers, and of what the optimizer keeps of them."""

    def __init__(
        self, layers: SplitLayers, splits: Sequence[Split], optimizer: torch.optim.Optimizer,
        rank: int,
    ) -> None:  # fmt: skip
        self._layers = layers
        self._splits = splits
        self._optimizer = optimizer
        self._rank = rank
        self.divided = False

    def _tensors(self, number: int) -> List[Tuple[torch.Tensor, Dict[str, Any]]]:
        """Each with the optimizer's state of it."""
        return [(one, self._optimizer.state.get(one, {}) if isinstance(one, nn.Parameter) else {})
                for one in self._layers.layers[number].divided]  # fmt: skip

    def _each(self) -> List[int]:
        return [number for number, split in enumerate(self._splits) if split.c > 1]

    def divide(self) -> None:
        if self.divided:
            return
        self.divided = True
        model = self._layers.model
        for number in self._each():
            own = model.channel_range(model.layers[number], self._splits[number], self._rank)

            def part(tensor: torch.Tensor) -> torch.Tensor:
                return tensor.narrow(0, own.begin, own.length).clone()

            for tensor, state in self._tensors(number):
                whole = tensor.shape
                for name, one in state.items():
                    if isinstance(one, torch.Tensor) and one.shape == whole:
                        state[name] = part(one)
                tensor.grad = None
                tensor.data = part(tensor.data)
                check_no_graph(tensor)

    def gather(self) -> None:
        """Collective: every rank has all of them."""
        if not self.divided:
            return
        self.divided = False
        for number in self._each():
            for tensor, state in self._tensors(number):
                own = tensor.shape
                for name in sorted(state):
                    one = state[name]
                    if isinstance(one, torch.Tensor) and one.shape == own:
                        state[name] = self._whole(one, number)
                tensor.grad = None
                tensor.data = self._whole(tensor.data, number)

    def _whole(self, part: torch.Tensor, number: int) -> torch.Tensor:
        model, split = self._layers.model, self._splits[number]
        layer = model.layers[number]
        whole = part.new_empty((layer.channels, *part.shape[1:]))
        for source in range(split.c):  # rank i has part i of the first rows
            there = model.channel_range(layer, split, source)
            room = whole.narrow(0, there.begin, there.length)
            if source == self._rank:
                room.copy_(part)
            dist.broadcast(room, source)
        return whole


class GradientSum:
    """Adds up the gradients of weights that several ranks hold, each as soon as it is there."""

    def __init__(self, layers: SplitLayers, splits: Sequence[Split], rank: int) -> None:
        self._works: List[Any] = []
        self._small: Dict[Any, List[nn.Parameter]] = {}
        groups = _groups(layers.model, splits)
        split_of = {id(one): split
                    for of, split in zip(layers.layers, splits) for one in of.divided}  # fmt: skip
        for parameter in layers.traced.parameters():
            split = split_of.get(id(parameter), Split(layers.model.ranks))
            ranks = sharing_ranks(layers.model, split, rank)
            if len(ranks) > 1 and parameter.requires_grad:
                self._watch(parameter, groups[ranks])

    def _watch(self, parameter: nn.Parameter, group: Optional[Any]) -> None:
        def on_gradient(one: nn.Parameter) -> None:
            assert one.grad is not None
            if one.numel() < _LARGE:
                self._small.setdefault((group, one.dtype), []).append(one)
            else:
                self._works.append(dist.all_reduce(one.grad, group=group, async_op=True))

        parameter.register_post_accumulate_grad_hook(on_gradient)

    def finish(self) -> None:
        """Behind the backward pass, before the optimizer."""
        for (group, _), parameters in self._small.items():
            gradients = [one.grad for one in parameters if one.grad is not None]
            flat = torch.cat([one.reshape(-1) for one in gradients])
            dist.all_reduce(flat, group=group)
            for one, added in zip(gradients, flat.split([one.numel() for one in gradients])):
                one.copy_(added.view_as(one))
        self._small.clear()
        for work in self._works:
            work.wait()
        self._works.clear()


def _groups(model: SplitModel, splits: Sequence[Split]) -> Mapping[Tuple[int, ...], Optional[Any]]:
    """Collective. None stands for all ranks."""
    everyone = tuple(range(model.ranks))
    found: Dict[Tuple[int, ...], Optional[Any]] = {everyone: None}
    for split in splits:
        for rank in range(model.ranks):
            ranks = sharing_ranks(model, split, rank)
            if ranks not in found and len(ranks) > 1:
                found[ranks] = dist.new_group(list(ranks))
    return found
