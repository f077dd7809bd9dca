"""What layers take under each of their splits, and what passing and adding tensors takes, measured
on all ranks at once, before the first step.
"""

from __future__ import annotations

import inspect
import statistics
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import nn

from ..layers import Clock, with_restored
from ..ranks import gather_objects
from ..stages import profile_of, slowest_profile
from ..traced import Node
from .layers import SplitLayers
from .runs import Exchange, LayerRunner, Waiting, check_no_graph, part_of
from .splits import (
    BATCH, Box, Link, Range, Split, SplitCosts, equal_ranges, sharing_ranks,
)  # fmt: skip

_ROUNDS = 4  # the first one, with other memory, does not count
_SUMS = 6  # so, too
_EXCHANGES = 6  # so, too
_ROW = 1024  # elements
_MOST_BYTES = 16 << 20  # of a message that tells what a byte takes
_UPDATED = 1 << 20  # elements

Loss = Callable[[torch.Tensor, Any], torch.Tensor]


class _Pass:
    """All layers forward and then backward, each under one of its splits, as a step runs them: what
    a layer reads again backward has left the caches, and gradients are in new memory until all are
    there."""

    def __init__(self, layers: SplitLayers, splits: Sequence[Split], loss: Loss, x: torch.Tensor,
                 y: Any, clock: Clock) -> None:  # fmt: skip
        self._layers = layers
        self._splits = splits
        self._loss = loss
        self._x, self._y = x, y
        self._rank = dist.get_rank()
        self._clock = clock
        whole = [Split(1)] * len(layers.layers)
        self._runner = LayerRunner(layers, whole, self._rank, clock)
        self._parameters = list(layers.traced.parameters())

    def _given(self, number: int, split: Split) -> Dict[Node, Any]:
        """On what the example's first run made."""
        model = self._layers.model
        layer = model.layers[number]
        given = {**self._layers.values, **self._runner.starting_values(self._x)}
        for node, of in self._layers.inputs(number):
            value = self._layers.values[node] if of != BATCH else self._x
            if value.dim() < 2 or len(value) != model.rows:
                continue
            box = model.input_box(layer, split, self._rank, of)
            part = part_of(value.detach(), box, model.input_box(layer, Split(1), self._rank, of))
            given[node] = part.clone().requires_grad_(value.requires_grad)
        return given

    def seconds(self) -> List[float]:
        """Of each layer, forward and backward. Weights are whole again afterwards."""
        wholes = []
        try:
            for number, split in enumerate(self._splits):
                model = self._layers.model
                own = model.channel_range(model.layers[number], split, self._rank)
                for one in self._layers.layers[number].divided if split.c > 1 else ():
                    wholes.append((one, one.data))
                    one.data = one.data.narrow(0, own.begin, own.length)
                    check_no_graph(one)
            return self._seconds()
        finally:
            for one, whole in wholes:
                one.data = whole

    def _seconds(self) -> List[float]:
        forward, ends, gradients = [], [], []
        for number, split in enumerate(self._splits):
            taken, made, leaves = self._forward(number, self._given(number, split))
            forward.append(taken)
            ends.append((made, leaves))
        backward = []
        while ends:
            made, leaves = ends.pop()
            taken, found = self._backward(made, leaves)
            backward.append(taken)
            gradients.append(found)
        return [sum(one) for one in zip(forward, reversed(backward))]

    def _forward(
        self, number: int, given: Dict[Node, Any]
    ) -> Tuple[float, Any, List[torch.Tensor]]:  # fmt: skip
        nodes = self._layers.layers[number].nodes
        leaves = [given[node] for node, _ in self._layers.inputs(number)]
        seen = dict(given)
        for node, _ in self._layers.inputs(number):
            seen[node] = given[node].clone()  # it may be worked on in place
        begin = self._clock()
        made = self._runner.run_layer(number, seen)
        if nodes[-1].op == "output":
            made = self._loss(made, self._y)
        return self._clock() - begin, made, leaves

    def _backward(self, made: Any, leaves: List[torch.Tensor]) -> Tuple[float, Any]:
        """And the gradients."""
        if not isinstance(made, torch.Tensor) or not made.requires_grad:
            return 0.0, None
        wanted = [one for one in (*leaves, *self._parameters) if one.requires_grad]
        gradient = torch.ones_like(made)
        begin = self._clock()
        found = torch.autograd.grad(made, wanted, gradient, allow_unused=True)
        return self._clock() - begin, found


def _compute_seconds(
    layers: SplitLayers, loss: Loss, x: torch.Tensor, y: Any, clock: Clock
) -> List[List[float]]:
    """Of each layer under each candidate, on the slowest rank. Collective: ranks begin each pass at
    once, so that those that share cores or a cache have what a step leaves them."""
    model = layers.model
    candidates = [model.candidates(one) for one in model.layers]
    columns = []
    for column in range(max(len(one) for one in candidates)):
        splits = [one[min(column, len(one) - 1)] for one in candidates]
        one_pass = _Pass(layers, splits, loss, x, y, clock)

        def run(one_pass: _Pass = one_pass) -> List[List[float]]:
            rounds = []
            for _ in range(_ROUNDS):
                dist.barrier()
                rounds.append(one_pass.seconds())
            return rounds

        rounds = with_restored(list(layers.traced.buffers()), run)
        columns.append(slowest_profile(gather_objects(profile_of(rounds[1:]))))
    return [[columns[column][number] for column in range(len(one))]
            for number, one in enumerate(candidates)]  # fmt: skip


def _update_seconds(optimizer: torch.optim.Optimizer, clock: Clock) -> float:
    """Of an element: what the optimizer takes for a weight that is made for it."""
    known = inspect.signature(type(optimizer).__init__).parameters
    options = {name: one for name, one in optimizer.defaults.items() if name in known}
    weight = nn.Parameter(torch.zeros(_UPDATED))
    weight.grad = torch.zeros(_UPDATED)
    alike = type(optimizer)([weight], **options)
    seconds = []
    for _ in range(_ROUNDS):
        begin = clock()
        alike.step()
        seconds.append(clock() - begin)
    return statistics.median(seconds[1:]) / _UPDATED


def _sum_seconds(size: int, group: Any, clock: Clock) -> float:
    data = torch.zeros(max(1, size // 4))
    seconds = []
    for _ in range(_SUMS):
        begin = clock()
        dist.all_reduce(data, group=group)
        seconds.append(clock() - begin)
    return statistics.median(seconds[1:])


def _sync_links(layers: SplitLayers, size: int, rank: int, clock: Clock) -> Dict[int, Link]:
    """Collective: of adding gradients up, by the number of ranks that do."""
    ranks = layers.model.ranks
    found: Dict[int, Link] = {}
    for sharing in [ranks // c for c in range(1, ranks) if ranks % c == 0]:
        split = Split(sharing, ranks // sharing)
        mine = None
        for other in range(split.c):
            members = list(sharing_ranks(layers.model, split, other))
            group = dist.new_group(members)
            if rank in members:
                mine = group
        least, most = (_sum_seconds(one, mine, clock) for one in (4, size))
        every = gather_objects((least, most))
        least, most = (max(one[which] for one in every) for which in (0, 1))
        found[sharing] = Link(least, max(0.0, most - least) / size)
    return found


def _exchange_seconds(rows: int, clock: Clock) -> float:
    """Of each rank's so many rows to all others, and of the gradient back, at once, by what a step
    uses: with its copies, into new memory."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    whole = Box(Range(0, rows * ranks), Range(0, _ROW))
    parts = [Box(one, whole.channels) for one in equal_ranges(rows * ranks, ranks)]
    exchange = Exchange(parts, [whole] * ranks, rank, 0, Waiting(clock))
    seconds, kept = [], []
    for _ in range(_EXCHANGES):
        given = torch.zeros(rows, _ROW)
        dist.barrier()
        begin = clock()
        kept.append(exchange.forward(given))
        kept.append(exchange.backward(kept[-1]))
        seconds.append(clock() - begin)
    return statistics.median(seconds[1:])


def _exchange_link(size: int, clock: Clock) -> Link:
    """Collective: of each piece that a rank gets from another, as all ranks exchange at once."""
    pieces = 2 * (dist.get_world_size() - 1)  # there and back
    large = max(2, size // (_ROW * torch.zeros(()).element_size()))
    mine = [_exchange_seconds(rows, clock) / pieces for rows in (1, large)]
    least, most = (max(one[which] for one in gather_objects(mine)) for which in (0, 1))
    return Link(least, max(0.0, most - least) / size)


def measure_costs(
    layers: SplitLayers, optimizer: torch.optim.Optimizer, loss: Loss, x: torch.Tensor, y: Any,
    clock: Clock,
) -> SplitCosts:  # fmt: skip
    """Collective. The model is as before."""
    model = layers.model
    rank = dist.get_rank()
    compute = _compute_seconds(layers, loss, x, y, clock)
    passed = max(one.cell_bytes * model.rows * one.channels * one.scale for one in model.layers)
    held = max(one.elements * one.element_bytes for one in model.layers)
    return SplitCosts(
        compute,
        _sync_links(layers, _size(held), rank, clock),
        max(gather_objects(_update_seconds(optimizer, clock))),
        _exchange_link(_size(passed // model.ranks), clock),
    )


def _size(wanted: int) -> int:
    return min(max(wanted, 4096), _MOST_BYTES)
