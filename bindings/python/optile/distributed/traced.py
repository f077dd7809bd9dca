"""The operators of a model as torch.fx traces them, and the units of them that a placement moves.

What has to stay together is one unit: operators that share parameters, that modify what others
see, that pass something else than a tensor, and those behind one another whom nobody else reads.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Sequence, Set, Tuple

import torch
import torch.fx
from torch import nn
from torch.utils._pytree import tree_flatten, tree_map

from .layers import TensorLayout, with_restored

Node = torch.fx.Node

_SIZES = {"size", "dim", "numel", "stride", "shape", "dtype", "device", "ndim"}


class NotPlaceable(ValueError):
    """A model that cannot be divided by operators; says why."""


def tensors_in(value: Any) -> List[torch.Tensor]:
    return [one for one in tree_flatten(value)[0] if isinstance(one, torch.Tensor)]


def attribute_of(module: nn.Module, path: str) -> Any:
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name)
    return value


class _TraceAgain(Exception):
    """A module was found whose inside cannot be traced."""


class _Tracer(torch.fx.Tracer):
    """A module whose inside it cannot trace is one operator."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: Set[nn.Module] = set()

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return m in self._whole or super().is_leaf_module(m, module_qualified_name)

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:  # fmt: skip
        try:
            return super().call_module(m, forward, args, kwargs)
        except _TraceAgain:
            raise
        except Exception as error:  # whatever the module's own code raises under tracing
            if m in self._whole:
                raise
            self._whole.add(m)
            raise _TraceAgain from error

    def trace_whole(self, model: nn.Module) -> torch.fx.Graph:
        while True:
            try:
                return self.trace(model)
            except _TraceAgain:
                continue


def trace(model: nn.Module) -> torch.fx.GraphModule:
    try:
        traced = torch.fx.GraphModule(model, _Tracer().trace_whole(model))
    except Exception as error:  # whatever the model's own code raises under tracing
        raise NotPlaceable(
            f"torch.fx cannot trace {type(model).__name__}, so its operators cannot be placed: "
            f"{error}"
        ) from error
    given = [node for node in traced.graph.nodes if node.op == "placeholder"]
    if not given or any(not one.args for one in given[1:]):
        raise NotPlaceable(
            f"{type(model).__name__} takes {len(given)} inputs; a batch's x is given as one"
        )
    return traced


class OperatorRunner:
    """Runs single operators of a traced model."""

    def __init__(self, traced: torch.fx.GraphModule) -> None:
        self._traced = traced

    def run(self, node: Node, values: Mapping[Node, Any]) -> Any:
        """`values`: at least those of the operators that it reads."""
        if node.op == "get_attr":
            return attribute_of(self._traced, str(node.target))
        args = torch.fx.node.map_arg(node.args, lambda one: values[one])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda one: values[one])
        if node.op == "output":
            return args[0]
        if node.op == "placeholder":
            return args[0]  # its default
        if node.op == "call_module":
            return attribute_of(self._traced, str(node.target))(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        assert callable(node.target)
        return node.target(*args, **kwargs)


class _Groups:
    """Sets of numbers that are joined."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def of(self, one: int) -> int:
        while self._above[one] != one:
            self._above[one] = self._above[self._above[one]]
            one = self._above[one]
        return one

    def join(self, some: Iterable[int]) -> None:
        listed = list(some)
        for one in listed[1:]:
            self._above[self.of(one)] = self.of(listed[0])


def _in_cycles(edges: Mapping[int, Set[int]]) -> Iterator[List[int]]:
    """Strongly connected groups of more than one: each reaches the others."""
    numbers: Dict[int, int] = {}
    low: Dict[int, int] = {}
    stack: List[int] = []
    for root in edges:
        if root in numbers:
            continue
        work = [(root, iter(edges[root]))]
        numbers[root] = low[root] = len(numbers)
        stack.append(root)
        while work:
            one, rest = work[-1]
            for other in rest:
                if other not in numbers:
                    numbers[other] = low[other] = len(numbers)
                    stack.append(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in stack:
                    low[one] = min(low[one], numbers[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[one])
                if low[one] == numbers[one]:
                    found = stack[stack.index(one):]
                    del stack[-len(found):]
                    if len(found) > 1:
                        yield found


@dataclass(frozen=True)
class PassedTensor:
    """A result that other units read."""

    node: Node
    layout: TensorLayout
    readers: Sequence[Node]  # those in units


@dataclass
class TracedUnits:
    """`units`: operators in the order of the program; the last unit has the model's output.
    `everywhere`: what each rank finds for itself, without computing."""

    traced: torch.fx.GraphModule
    units: List[List[Node]]
    passed: List[PassedTensor]
    everywhere: List[Node]
    fixed: Dict[Node, Any]  # sizes and the like: of batches like the example

    def starting_values(self, x: Any) -> Dict[Node, Any]:
        """What a rank has when a step begins."""
        values = dict(self.fixed)
        runner = OperatorRunner(self.traced)
        for number, node in enumerate(self.everywhere):
            values[node] = x if number == 0 else runner.run(node, values)
        return values

    def held_by(self, unit: int) -> "HeldTensors":
        held = HeldTensors()
        for node in self.units[unit]:
            if node.op == "get_attr":
                held.add(attribute_of(self.traced, str(node.target)))
            elif node.op == "call_module":
                for one in itertools.chain(*_held_by_module(self.traced, node)):
                    held.add(one)
        return held


class HeldTensors:
    """Parameters and buffers, as a module gives its own."""

    def __init__(self) -> None:
        self._all: List[torch.Tensor] = []

    def add(self, tensor: Any) -> None:
        if isinstance(tensor, torch.Tensor) and all(tensor is not one for one in self._all):
            self._all.append(tensor)

    def parameters(self) -> Iterator[nn.Parameter]:
        return (one for one in self._all if isinstance(one, nn.Parameter))

    def buffers(self) -> Iterator[torch.Tensor]:
        return (one for one in self._all if not isinstance(one, nn.Parameter))


def _held_by_module(traced: nn.Module, node: Node) -> Tuple[List[Any], List[Any]]:
    module = attribute_of(traced, str(node.target))
    return list(module.parameters()), list(module.buffers())


class FirstRun:
    """Runs all operators once, and notes what each gives and what it modifies."""

    def __init__(self, traced: torch.fx.GraphModule, x: Any) -> None:
        self.values: Dict[Node, Any] = {}
        self.modified: Dict[Node, List[torch.Tensor]] = {}
        runner = OperatorRunner(traced)
        first = True
        for node in traced.graph.nodes:
            if node.op == "placeholder" and first:
                self.values[node] = x
                first = False
                continue
            given = [one for source in node.all_input_nodes
                     for one in tensors_in(self.values[source])]  # fmt: skip
            versions = [one._version for one in given]
            self.values[node] = runner.run(node, self.values)
            changed = [one for one, was in zip(given, versions) if one._version != was]
            if changed:
                self.modified[node] = changed


def storage_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else id(tensor)


class _Grouping:
    """Finds units out of what a first run showed."""

    def __init__(self, traced: torch.fx.GraphModule, run: FirstRun) -> None:
        self._traced = traced
        self._run = run
        self._nodes: List[Node] = list(traced.graph.nodes)
        self._number = {node: number for number, node in enumerate(self._nodes)}
        self._groups = _Groups(len(self._nodes))
        self._modified = {storage_of(one) for changed in run.modified.values() for one in changed}
        self.fixed: Dict[Node, Any] = {}
        self.everywhere: List[Node] = []
        for node in self._nodes:
            self._sort(node)

    def _sort(self, node: Node) -> None:
        value = self._run.values[node]
        if node.op == "placeholder" or (node.op == "get_attr" and self._is_constant(value)):
            self.everywhere.append(node)
            return
        if node.op == "output" or tensors_in(value):
            return
        fixed_inputs = all(one in self.fixed for one in node.all_input_nodes)
        if not fixed_inputs and not self._gives_size(node):
            raise NotPlaceable(
                f"operator {node.name} gives a {type(value).__name__}, which another rank could "
                "not know; a placement passes tensors"
            )
        self.fixed[node] = value

    @staticmethod
    def _gives_size(node: Node) -> bool:
        named = node.args[1] if node.target is getattr else node.target
        return named in _SIZES and node.op in ("call_function", "call_method")

    def _is_constant(self, value: Any) -> bool:
        return not isinstance(value, nn.Parameter) and not (
            isinstance(value, torch.Tensor) and storage_of(value) in self._modified
        )

    def _is_placed(self, node: Node) -> bool:
        return node not in self.fixed and node not in self.everywhere

    def _join(self, nodes: Iterable[Node]) -> None:
        self._groups.join(self._number[one] for one in nodes if self._is_placed(one))

    def units(self) -> List[List[Node]]:
        self._join_shared_parameters()
        self._join_modified()
        for node in self._nodes:
            value = self._run.values[node]
            if node.op != "output" and not isinstance(value, torch.Tensor):
                self._join([node, *node.users])
        while self._join_cycles() or self._join_chains():
            pass
        return self._in_order()

    def _join_shared_parameters(self) -> None:
        readers: Dict[int, List[Node]] = {}
        for node in self._nodes:
            held: Iterable[Any] = ()
            if node.op == "get_attr" and self._is_placed(node):
                held = (self._run.values[node],)
                self._join([node, *node.users])
            elif node.op == "call_module":
                held = itertools.chain(*_held_by_module(self._traced, node))
            for one in held:
                readers.setdefault(id(one), []).append(node)
        for some in readers.values():
            self._join(some)

    def _join_modified(self) -> None:
        """Who modifies a tensor, and whoever sees what it was before."""
        for node, changed in self._run.modified.items():
            storages = {storage_of(one) for one in changed}
            concerned = [node]
            for earlier in self._nodes[: self._number[node]]:
                seen = {storage_of(one) for one in tensors_in(self._run.values[earlier])}
                if seen & storages:
                    concerned += [earlier, *earlier.users]
            self._join(concerned)

    def _edges(self) -> Dict[int, Set[int]]:
        edges: Dict[int, Set[int]] = {}
        for node in self._nodes:
            if not self._is_placed(node):
                continue
            own = self._groups.of(self._number[node])
            after = edges.setdefault(own, set())
            for user in node.users:
                other = self._groups.of(self._number[user])
                if self._is_placed(user) and other != own:
                    after.add(other)
        return edges

    def _join_cycles(self) -> bool:
        cycles = list(_in_cycles(self._edges()))
        for one in cycles:
            self._groups.join(one)
        return bool(cycles)

    def _join_chains(self) -> bool:
        """Of two behind one another, the first read by the second alone, which reads nothing else;
        and whatever reads nothing, with its only reader."""
        edges = self._edges()
        before: Dict[int, Set[int]] = {one: set() for one in edges}
        for one, others in edges.items():
            for other in others:
                before[other].add(one)
        pairs = [(one, next(iter(others))) for one, others in edges.items() if len(others) == 1]
        found = [(one, other) for one, other in pairs
                 if len(before[other]) == 1 or not before[one]
                 and not self._reads_input(one)]  # fmt: skip
        for pair in found:
            self._groups.join(pair)
        return bool(found)

    def _reads_input(self, group: int) -> bool:
        return any(
            source.op == "placeholder"
            for node in self._nodes if self._groups.of(self._number[node]) == group
            for source in node.all_input_nodes
        )  # fmt: skip

    def _in_order(self) -> List[List[Node]]:
        """Each behind those that it reads from, the one with the output last."""
        members: Dict[int, List[Node]] = {}
        for node in self._nodes:
            if self._is_placed(node):
                members.setdefault(self._groups.of(self._number[node]), []).append(node)
        edges = self._edges()
        waits = {one: 0 for one in edges}
        for others in edges.values():
            for other in others:
                waits[other] += 1
        last = self._groups.of(len(self._nodes) - 1)
        order: List[int] = []
        ready = [one for one in members if waits[one] == 0]
        while ready:
            ready.sort(key=lambda one: (one == last, self._number[members[one][0]]))
            one = ready.pop(0)
            order.append(one)
            for other in edges[one]:
                waits[other] -= 1
                if waits[other] == 0:
                    ready.append(other)
        return [members[one] for one in order]


def _passed(units: Sequence[Sequence[Node]], run: FirstRun) -> List[PassedTensor]:
    unit_of = {node: number for number, unit in enumerate(units) for node in unit}
    passed = []
    for number, unit in enumerate(units):
        for node in unit:
            readers = [user for user in node.users if user in unit_of]
            if any(unit_of[user] != number for user in readers):
                one = run.values[node]
                layout = TensorLayout(tuple(one.shape), one.dtype, one.requires_grad)
                passed.append(PassedTensor(node, layout, readers))
    return passed


def find_units(model: nn.Module, x: Any) -> TracedUnits:
    """Raises NotPlaceable. The model is run once on `x`, and is as before."""
    traced = trace(model)
    copied = tree_map(lambda one: one.clone() if isinstance(one, torch.Tensor) else one, x)
    run = with_restored(model.buffers(), lambda: FirstRun(traced, copied))
    grouping = _Grouping(traced, run)
    units = grouping.units()
    return TracedUnits(traced, units, _passed(units, run), grouping.everywhere, grouping.fixed)
