"""Writes the graph of a PyTorch model for `optile place`.

    import optile.fx

    optile.fx.save("model.json.gz", model, example_input)

or, where my_model.py has a function build() that returns (model, inputs):

    python3 -m optile.fx my_model:build model.json.gz

The model is traced by torch.fx, or by torch.export where that cannot, and its forward pass run a
few times on the inputs, in the mode that it is in: how long each node takes on the device where
they are, and how large its result is. What such a run changes, statistics of BatchNorm and the
state of random numbers, is afterwards what it was. With measure=False it is run once, for the
sizes, and optile estimates times from operations and bytes. The backward pass is in execution
traces (torch.profiler's ExecutionTraceObserver), which optile reads too. Needs PyTorch 1.13 or
later; this one file is all.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import json
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
import torch.fx

__all__ = ["graph_of", "save"]

VERSION = 1


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """All tensors in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)


def _bytes_of(value: Any) -> int:
    """Of all tensors in a result."""
    return sum(one.numel() * one.element_size() for one in _tensors(value))


@contextlib.contextmanager
def _untouched(graph: torch.nn.Module, devices: List[int]) -> Iterator[None]:
    """Runs of a graph work on copies of its buffers, which are the model's own, and draw random
    numbers that nobody misses afterwards."""
    copies: Dict[int, torch.Tensor] = {}  # several modules may hold one buffer
    replaced = []
    try:
        for module in graph.modules():
            for name, buffer in list(module.named_buffers(recurse=False)):
                if id(buffer) not in copies:
                    copies[id(buffer)] = buffer.detach().clone()
                replaced.append((module, name, buffer))
                setattr(module, name, copies[id(buffer)])
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        for module, name, buffer in replaced:
            setattr(module, name, buffer)


def _traced(model: Any, inputs: Tuple[Any, ...]) -> torch.fx.GraphModule:
    if isinstance(model, torch.fx.GraphModule):
        return model
    if hasattr(model, "graph_signature"):  # a torch.export.ExportedProgram
        return model.module()
    try:
        return torch.fx.symbolic_trace(model)
    except Exception:  # whatever the model's own code raises under tracing
        if not hasattr(torch, "export"):
            raise
        return torch.export.export(model, inputs).module()


def _attribute(module: torch.nn.Module, path: str) -> Any:
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _wait_for_devices() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class _Run(torch.fx.Interpreter):
    """Runs a graph node by node and notes what each costs."""

    def __init__(self, graph: torch.fx.GraphModule, count_operations: bool) -> None:
        super().__init__(graph)
        self.seconds: Dict[str, float] = {}
        self.output_bytes: Dict[str, int] = {}
        self.operations: Dict[str, int] = {}
        self._count_operations = count_operations

    def run_node(self, n: torch.fx.Node) -> Any:
        _wait_for_devices()
        begin = time.perf_counter()
        counter = _operation_counter() if self._count_operations else None
        if counter is None:
            result = super().run_node(n)
        else:
            with counter:
                result = super().run_node(n)
            self.operations[n.name] = int(counter.get_total_flops())
        _wait_for_devices()
        seconds = time.perf_counter() - begin
        self.seconds[n.name] = min(seconds, self.seconds.get(n.name, seconds))
        self.output_bytes[n.name] = _bytes_of(result)
        return result


def _operation_counter() -> Optional[Any]:
    """Newer versions of PyTorch count operations; others leave the estimate to bytes."""
    try:
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        return None
    return FlopCounterMode(display=False)


def _kind(graph: torch.fx.GraphModule, node: torch.fx.Node) -> str:
    if node.op == "call_module":
        return type(graph.get_submodule(node.target)).__name__
    if node.op == "call_function":
        return str(getattr(node.target, "__name__", node.target))
    return str(node.target) if node.op == "call_method" else node.op


def _own_bytes(graph: torch.fx.GraphModule, node: torch.fx.Node) -> int:
    """Of the parameters and buffers that a node holds itself."""
    if node.op == "get_attr":
        return _bytes_of(_attribute(graph, node.target))
    if node.op != "call_module":
        return 0
    module = graph.get_submodule(node.target)
    return _bytes_of(list(module.parameters())) + _bytes_of(list(module.buffers()))


def _listed(graph: torch.fx.GraphModule, run: _Run, measured: bool) -> List[Dict[str, Any]]:
    # A parameter that one node reads belongs to it; one that several read is a node.
    inside = {node: next(iter(node.users)) for node in graph.graph.nodes
              if node.op == "get_attr" and len(node.users) == 1}
    calls: Dict[str, int] = {}
    for node in graph.graph.nodes:
        if node.op == "call_module":
            calls[node.target] = calls.get(node.target, 0) + 1
    shared = {target: colour for colour, target in
              enumerate(target for target, count in calls.items() if count > 1)}
    met = set()
    listed = []
    for node in graph.graph.nodes:
        if node.op == "output" or node in inside:
            continue
        own = _own_bytes(graph, node) if (node.op, node.target) not in met else 0
        met.add((node.op, node.target))
        if node.op == "get_attr":
            own = 0  # its result is the parameter
        own += sum(_own_bytes(graph, held) for held, reader in inside.items() if reader is node)
        entry: Dict[str, Any] = {
            "name": node.name, "op": node.op, "kind": _kind(graph, node),
            "inputs": [one.name for one in node.all_input_nodes if one not in inside],
            "output_bytes": run.output_bytes[node.name], "parameter_bytes": own}
        if node.op == "call_module" and node.target in shared:
            entry["colour"] = shared[node.target]  # calls of one module stay together
        works = node.op not in ("placeholder", "get_attr")
        if measured and works:
            entry["ms"] = run.seconds[node.name] * 1e3
        elif node.name in run.operations and works:
            entry["flops"] = run.operations[node.name]
        listed.append(entry)
    return listed


def graph_of(model: Any, *inputs: Any, measure: bool = True, repeat: int = 5,
             name: str = "") -> Dict[str, Any]:
    """The graph as `save` writes it. `model` is a module, a GraphModule or an ExportedProgram."""
    graph = _traced(model, inputs)
    run = _Run(graph, count_operations=not measure)
    held = [*graph.parameters(), *graph.buffers()]
    devices = sorted({int(one.get_device()) for one in _tensors([inputs, held]) if one.is_cuda})
    with torch.no_grad(), _untouched(graph, devices):
        for _ in range(max(1, repeat) if measure else 1):
            run.run(*inputs)
    on = "cuda" if devices else "cpu"
    result: Dict[str, Any] = {"format": "optile fx graph", "version": VERSION, "name": name,
                              "torch": str(torch.__version__)}
    if measure:
        result["measured_on"] = on
    result["nodes"] = _listed(graph, run, measure)
    return result


def save(path: str, model: Any, *inputs: Any, measure: bool = True, repeat: int = 5,
         name: str = "") -> None:
    """Writes the graph as JSON, packed where the path ends with .gz."""
    text = json.dumps(graph_of(model, *inputs, measure=measure, repeat=repeat, name=name))
    opened = gzip.open(path, "wt", encoding="utf-8") if str(path).endswith(".gz") else \
        open(path, "w", encoding="utf-8")
    with opened as file:
        file.write(text + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="optile.fx", description="Writes the graph of a PyTorch "
                                     "model for optile place.")
    parser.add_argument("model", metavar="MODULE:FUNCTION",
                        help="a function that returns (model, inputs)")
    parser.add_argument("file", help="where the graph goes; packed where it ends with .gz")
    parser.add_argument("--no-measure", action="store_true", help="estimate times instead")
    parser.add_argument("--repeat", type=int, default=5,
                        help="runs, of which the least times count")
    words = parser.parse_args()
    module, _, function = words.model.partition(":")
    if not function:
        parser.error("the model is named as MODULE:FUNCTION")
    sys.path.insert(0, "")
    model, inputs = getattr(importlib.import_module(module), function)()
    if not isinstance(inputs, (list, tuple)):
        inputs = (inputs,)
    save(words.file, model, *inputs, measure=not words.no_measure, repeat=words.repeat,
         name=words.model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
