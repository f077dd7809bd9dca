"""The layers of a traced model that `plan="splits"` divides over ranks: what each of them is, and
which of its tensors are divided with its channels.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_map

from ..layers import with_restored
from ..traced import (
    FirstRun, NotPlaceable, Node, attribute_of, storage_of, tensors_in, trace,
)  # fmt: skip
from .splits import BATCH, ChannelUse, Layer, SplitModel

_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_POOLS = (
    nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d,
)  # fmt: skip
# Run with what is before them: each element, or each channel, by itself.
_ELEMENTWISE = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.CELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish,
    nn.Hardswish, nn.Hardtanh, nn.Hardsigmoid, nn.Softplus, nn.Tanh, nn.Sigmoid, nn.Identity,
    nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout,
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AdaptiveMaxPool2d,
)  # fmt: skip
_POOL_FUNCTIONS = (functional.max_pool2d, functional.avg_pool2d, torch.max_pool2d)
_ELEMENTWISE_FUNCTIONS = (
    torch.relu, torch.relu_, torch.tanh, torch.sigmoid, functional.relu, functional.gelu,
    functional.silu, functional.leaky_relu, functional.dropout, functional.hardswish,
    functional.adaptive_avg_pool2d,
)  # fmt: skip
_SUMS = (operator.add, operator.iadd, operator.mul, torch.add, torch.mul)
_ELEMENTWISE_METHODS = ("relu", "relu_", "tanh", "sigmoid", "contiguous")

NODE_LOSS = "loss"


@dataclass(frozen=True)
class _Sort:
    kind: str
    use: ChannelUse
    joins: bool = False  # it runs with the layer before it


_UNKNOWN = _Sort("other", ChannelUse.UNKNOWN)
_JOINING = _Sort("other", ChannelUse.OWN, True)


@dataclass(frozen=True)
class LayerNodes:
    """Of one layer: its operators, and the tensors whose first dimension is its channels."""

    nodes: Sequence[Node]
    divided: Sequence[torch.Tensor]


@dataclass(frozen=True)
class SplitLayers:
    traced: torch.fx.GraphModule
    batch: Node
    everywhere: Sequence[Node]  # what each rank has: constants, and parameters that nobody divides
    layers: Sequence[LayerNodes]
    model: SplitModel
    values: Dict[Node, Any]  # of the example: shapes, and something to measure with

    def layer_of(self, node: Node) -> Optional[int]:
        """None: each rank has it."""
        return next((number for number, one in enumerate(self.layers) if node in one.nodes), None)

    def inputs(self, number: int) -> List[Tuple[Node, int]]:
        """What a layer reads of the batch or of others' tensors, and of which of them."""
        nodes = self.layers[number].nodes
        found: Dict[Node, int] = {}
        for node in nodes:
            for source in node.all_input_nodes:
                if source in nodes or source in self.everywhere:
                    continue
                if isinstance(self.values[source], torch.Tensor):
                    of = self.layer_of(source)
                    found[source] = BATCH if of is None else of
        return list(found.items())


class _Sorter:
    """Says of single operators what is known of them."""

    def __init__(self, traced: torch.fx.GraphModule, values: Dict[Node, Any], rows: int) -> None:
        self._traced = traced
        self._values = values
        self._rows = rows
        self._everywhere = {one for one in traced.graph.nodes if one.op == "get_attr"}
        uses: Dict[int, int] = {}
        for node in traced.graph.nodes:
            for one in self.held(node):
                uses[id(one)] = uses.get(id(one), 0) + 1
        self._shared = {one for one, count in uses.items() if count > 1}

    def held(self, node: Node) -> List[torch.Tensor]:
        if node.op == "get_attr":
            return tensors_in(attribute_of(self._traced, str(node.target)))
        if node.op != "call_module":
            return []
        module = attribute_of(self._traced, str(node.target))
        return [*module.parameters(), *module.buffers()]

    def sort(self, node: Node) -> _Sort:
        given = [self._values[one] for one in node.all_input_nodes]
        made = self._values[node]
        regular = bool(given) and all(
            isinstance(one, torch.Tensor) and one.dim() >= 2 and len(one) == self._rows
            for one in (*given, made)
        ) and not self._everywhere.intersection(node.all_input_nodes)  # fmt: skip
        if not regular or any(id(one) in self._shared for one in self.held(node)):
            return _UNKNOWN
        if node.op == "call_module":
            return self._of_module(attribute_of(self._traced, str(node.target)), given[0], made)
        if node.op == "call_method":
            return self._of_method(str(node.target), node, made)
        return self._of_function(node, given, made)

    @staticmethod
    def _of_module(module: nn.Module, given: torch.Tensor, made: torch.Tensor) -> _Sort:
        kind = type(module)
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
            return _UNKNOWN
        if kind in _CONVOLUTIONS:
            grouped = module.groups > 1 or given.dim() != module.weight.dim()
            return _UNKNOWN if grouped else _Sort("convolution", ChannelUse.ALL)
        if kind is nn.Linear:
            return _Sort("dense", ChannelUse.ALL) if given.dim() == 2 else _UNKNOWN
        if kind in _POOLS:
            return _Sort("pooling", ChannelUse.OWN)
        if kind in _NORMS:
            counts = module.training or module.running_mean is None
            return _Sort("other", ChannelUse.NORMALISED if counts else ChannelUse.OWN)
        if kind in _ELEMENTWISE:
            return _JOINING
        if kind is nn.Flatten and module.start_dim == 1 and made.dim() == 2:
            return _JOINING
        return _UNKNOWN

    @staticmethod
    def _of_method(name: str, node: Node, made: torch.Tensor) -> _Sort:
        if name in _ELEMENTWISE_METHODS and len(node.all_input_nodes) == 1:
            return _JOINING
        if name == "flatten" and node.args[1:] == (1,) and made.dim() == 2:
            return _JOINING
        return _UNKNOWN

    @staticmethod
    def _of_function(node: Node, given: Sequence[torch.Tensor], made: torch.Tensor) -> _Sort:
        target = node.target
        if len(given) == 2 and target in _SUMS and given[0].shape == given[1].shape:
            return _Sort("other", ChannelUse.OWN)
        if len(given) != 1:
            return _UNKNOWN
        if target in _POOL_FUNCTIONS:
            return _Sort("pooling", ChannelUse.OWN)
        if target in _ELEMENTWISE_FUNCTIONS:
            return _JOINING
        flattens = node.args[1:] == (1,) or node.kwargs == {"start_dim": 1}
        if target is torch.flatten and flattens and made.dim() == 2:
            return _JOINING
        return _UNKNOWN


class _Grouping:
    """Layers in the order of the program."""

    def __init__(self, traced: torch.fx.GraphModule, run: FirstRun, rows: int) -> None:
        self._run = run
        self._sorter = _Sorter(traced, run.values, rows)
        self.groups: List[List[Node]] = []
        self.sorts: List[_Sort] = []
        self._group_of: Dict[Node, int] = {}
        for node in traced.graph.nodes:
            if node.op not in ("placeholder", "get_attr"):
                self._add(node)

    def _add(self, node: Node) -> None:
        sort = self._sorter.sort(node) if node.op != "output" else _Sort(NODE_LOSS, _UNKNOWN.use)
        before = node.all_input_nodes[0] if node.all_input_nodes else None
        if sort.joins and before in self._group_of and len(before.users) == 1:
            number = self._group_of[before]
            self.groups[number].append(node)
        else:
            number = len(self.groups)
            self.groups.append([node])
            self.sorts.append(sort)
        self._group_of[node] = number

    def layer(self, number: int) -> Tuple[Layer, LayerNodes]:
        group, sort, values = self.groups[number], self.sorts[number], self._run.values
        first, made = group[0], values[group[-1]]
        held = [one for node in group for one in self._sorter.held(node)]
        parameters = [one for one in held if isinstance(one, nn.Parameter)]
        channels = scale = 1
        cell_bytes = 0
        if isinstance(made, torch.Tensor) and made.dim() >= 2:
            channels = made.shape[1]
            cell_bytes = made.nbytes // max(1, made.shape[0] * made.shape[1])
            if sort.use is not ChannelUse.UNKNOWN:
                starts = first if sort.use is ChannelUse.ALL else first.all_input_nodes[0]
                channels = values[starts].shape[1]
                scale = made.shape[1] // channels
        divided = [one for one in held if sort.use is not ChannelUse.UNKNOWN and one.dim() > 0]
        layer = Layer(
            self._name(number), sort.kind, sort.use,
            self._reads(number), channels, scale, cell_bytes,
            isinstance(made, torch.Tensor) and made.requires_grad,
            sum(one.numel() for one in parameters),
            max((one.element_size() for one in parameters), default=4),
        )  # fmt: skip
        return layer, LayerNodes(group, divided)

    def _name(self, number: int) -> str:
        """As the model calls its module, where that is used once."""
        first = self.groups[number][0]
        if self.sorts[number].kind == NODE_LOSS:
            return NODE_LOSS
        same = sum(one.target == first.target for group in self.groups for one in group)
        return str(first.target) if first.op == "call_module" and same == 1 else first.name

    def _reads(self, number: int) -> Tuple[int, ...]:
        found: Dict[int, None] = {}
        for node in self.groups[number]:
            for source in node.all_input_nodes:
                of = self._group_of.get(source, BATCH)
                if of != number and isinstance(self._run.values[source], torch.Tensor):
                    if source.op != "get_attr":
                        found[of] = None
        return tuple(found)


def _check_modified(run: FirstRun, traced: torch.fx.GraphModule) -> None:
    """What works in place may do so on what nobody else reads afterwards: of a layer's output, each
    reader may be given a copy."""
    nodes = list(traced.graph.nodes)
    for number, node in enumerate(nodes):
        changed = {storage_of(one) for one in run.modified.get(node, ())}
        if not changed:
            continue
        earlier = [one for one in nodes[:number]
                   if any(storage_of(made) in changed for made in tensors_in(run.values[one]))]
        late = [user for one in earlier for user in one.users if nodes.index(user) > number]
        if late or any(one.op == "placeholder" for one in earlier):
            what = f"what {late[0].name} reads, too" if late else "the batch"
            raise NotPlaceable(
                f'operator {node.name} works in place on {what}; plan="splits" cannot divide that'
            )


def _check_buffers(traced: torch.fx.GraphModule, grouping: _Grouping,
                   before: Dict[str, int]) -> None:  # fmt: skip
    """A layer that counts something over rows would count others on each rank."""
    known = set()
    for group, sort in zip(grouping.groups, grouping.sorts):
        if sort.use is ChannelUse.NORMALISED:
            known |= {f"{group[0].target}."}
    for name, one in traced.named_buffers():
        if one._version != before.get(name) and not any(name.startswith(own) for own in known):
            raise NotPlaceable(
                f"the model changes its buffer {name} in a step, of the rows that it sees; under "
                'plan="splits" each rank would keep another one'
            )


def find_layers(model: nn.Module, x: Any, ranks: int) -> SplitLayers:
    """Raises NotPlaceable. The model is run once on `x`, and is as before."""
    if not isinstance(x, torch.Tensor) or x.dim() < 2 or len(x) < ranks:
        raise NotPlaceable(
            f"a batch's x is one tensor of at least {ranks} rows, as many as there are ranks"
        )
    traced = trace(model)
    versions = {name: one._version for name, one in traced.named_buffers()}

    def run_once() -> Tuple[FirstRun, _Grouping]:
        run = FirstRun(traced, x.clone())
        grouping = _Grouping(traced, run, len(x))
        _check_modified(run, traced)
        _check_buffers(traced, grouping, versions)
        return run, grouping

    run, grouping = with_restored(model.buffers(), run_once)
    given = [node for node in traced.graph.nodes if node.op == "placeholder"]
    output = run.values[grouping.groups[-1][-1]]
    if not isinstance(output, torch.Tensor) or output.dim() < 1 or len(output) != len(x):
        raise NotPlaceable(
            f"{type(model).__name__} gives no tensor with the batch's rows, by which the loss is "
            "divided"
        )
    layers, nodes = zip(*(grouping.layer(number) for number in range(len(grouping.groups))))
    described = SplitModel(list(layers), len(x), ranks, x.shape[1])
    everywhere = [node for node in traced.graph.nodes
                  if node.op == "get_attr" or node in given[1:]]  # fmt: skip
    # What still hung on a graph would keep autograd from taking a weight of another shape.
    values = tree_map(lambda one: one.detach().requires_grad_(one.requires_grad)
                      if isinstance(one, torch.Tensor) else one, run.values)  # fmt: skip
    return SplitLayers(traced, given[0], everywhere, nodes, described, values)
