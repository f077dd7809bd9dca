"""What layers take under each of their splits, and what passing and adding tensors takes, measured
on all ranks at once, before the first step.
"""

from __future__ import annotations

import inspect
import statistics
from typing import Any, Callable, Dict, List

import torch
import torch.distributed as dist
from torch import nn

from ..layers import Clock, with_restored
from ..links import measured_link
from ..ranks import gather_objects
from ..replicas import Replicas
from ..stages import profile_of
from ..traced import Node
from .layers import SplitLayers
from .runs import LayerRunner, check_no_graph, part_of
from .splits import BATCH, Link, Split, SplitCosts, sharing_ranks

_ROUNDS = 4  # the first one, with other memory, does not count
_SUMS = 6  # so, too
_MOST_BYTES = 16 << 20  # of a message that tells what a byte takes
_UPDATED = 1 << 20  # elements

Loss = Callable[[torch.Tensor, Any], torch.Tensor]


class _LayerTimes:
    """Runs single layers under single splits, on what the example's first run made."""

    def __init__(self, layers: SplitLayers, loss: Loss, x: torch.Tensor, y: Any, rank: int,
                 clock: Clock) -> None:  # fmt: skip
        self._layers = layers
        self._loss = loss
        self._x, self._y = x, y
        self._rank = rank
        self._clock = clock
        whole = [Split(1)] * len(layers.layers)
        self._runner = LayerRunner(layers, whole, rank, clock)

    def _given(self, number: int, split: Split) -> Dict[Node, Any]:
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

    def seconds(self, number: int, split: Split) -> float:
        """Forward and backward."""
        held = self._layers.layers[number].divided
        wholes = [one.data for one in held]
        try:
            if split.c > 1:
                model = self._layers.model
                own = model.channel_range(model.layers[number], split, self._rank)
                for one in held:
                    one.data = one.data.narrow(0, own.begin, own.length)
                    check_no_graph(one)
            return self._seconds(number, self._given(number, split))
        finally:
            for one, whole in zip(held, wholes):
                one.data = whole

    def _seconds(self, number: int, given: Dict[Node, Any]) -> float:
        nodes = self._layers.layers[number].nodes
        leaves = [given[node] for node, _ in self._layers.inputs(number)]
        seen = dict(given)
        for node, _ in self._layers.inputs(number):
            seen[node] = given[node].clone()  # it may be worked on in place
        begin = self._clock()
        made = self._runner.run_layer(number, seen)
        if nodes[-1].op == "output":
            made = self._loss(made, self._y)
        seconds = self._clock() - begin
        if not isinstance(made, torch.Tensor) or not made.requires_grad:
            return seconds
        parameters = {id(one): one for one in self._layers.traced.parameters()}
        wanted = [one for one in (*leaves, *parameters.values()) if one.requires_grad]
        gradient = torch.ones_like(made)
        begin = self._clock()
        torch.autograd.grad(made, wanted, gradient, allow_unused=True)
        return seconds + self._clock() - begin


def _compute_seconds(times: _LayerTimes, layers: SplitLayers) -> List[List[float]]:
    """Of each layer under each candidate, on the slowest rank. Collective."""
    model = layers.model
    pairs = [(number, split) for number, layer in enumerate(model.layers)
             for split in model.candidates(layer)]  # fmt: skip

    def run() -> List[List[float]]:
        return [[times.seconds(*one) for one in pairs] for _ in range(_ROUNDS)]

    rounds = with_restored(list(layers.traced.buffers()), run)
    every = gather_objects(profile_of(rounds[1:]))
    slowest = dict(zip(pairs, map(max, zip(*every))))
    return [[slowest[number, split] for split in model.candidates(layer)]
            for number, layer in enumerate(model.layers)]  # fmt: skip


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


def measure_costs(
    layers: SplitLayers, optimizer: torch.optim.Optimizer, loss: Loss, x: torch.Tensor, y: Any,
    clock: Clock,
) -> SplitCosts:  # fmt: skip
    """Collective. The model is as before."""
    model = layers.model
    rank = dist.get_rank()
    times = _LayerTimes(layers, loss, x, y, rank, clock)
    compute = _compute_seconds(times, layers)
    passed = max(one.cell_bytes * model.rows * one.channels * one.scale for one in model.layers)
    held = max(one.elements * one.element_bytes for one in model.layers)
    link = measured_link(Replicas(), _size(passed), clock)
    every = gather_objects((link, _update_seconds(optimizer, clock)))
    return SplitCosts(
        compute,
        _sync_links(layers, _size(held), rank, clock),
        max(one[1] for one in every),
        Link(max(one[0][0] for one in every), max(one[0][1] for one in every)),
    )


def _size(wanted: int) -> int:
    return min(max(wanted, 4096), _MOST_BYTES)
