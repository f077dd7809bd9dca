"""Writes the graph of a PyTorch model with the ops of a training step, for `optile graph`.

    import optile.step_ops

    optile.step_ops.save("model.json", model, example_input)

The model is traced by torch.fx, and one forward and backward pass is run under PyTorch's profiler,
from a loss that is the sum of all results: which ops each node of the graph runs, on which shapes,
and what each took there. Ops are named as optile's bridge to PyTorch names them, so that `optile
graph` finds what optile has measured of them while the model was trained. Gradients, statistics of
BatchNorm and the state of random numbers are afterwards what they were. Needs PyTorch 1.13 or
later.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.fx

from . import fx

__all__ = ["graph_of", "save"]

VERSION = 2  # of "optile fx graph"; 1 has no ops
_MARK = "optile node "
# Look through, as the bridge does: what these call has names of its own.
_COMPOSITES = ("aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu")
_ENGINE = "autograd::engine::"
_FUNCTION, _BACKWARD = 0, 1  # PyTorch's RecordScope
# As the profiler calls types of values, and as PyTorch calls them.
_TYPES = {"float": "", "double": "Double", "long int": "Long", "long": "Long", "int": "Int",
          "bool": "Bool", "unsigned char": "Byte", "signed char": "Char", "short": "Short",
          "short int": "Short", "c10::Half": "Half", "c10::BFloat16": "BFloat16"}  # fmt: skip


class _Marking(torch.fx.Interpreter):
    """Runs each node within a range of its name."""

    def run_node(self, n: torch.fx.Node) -> Any:
        with torch.profiler.record_function(_MARK + n.name):
            return super().run_node(n)


def _begin(event: Any) -> int:
    """In ns; older versions of PyTorch keep whole us."""
    return event.start_ns() if hasattr(event, "start_ns") else event.start_us() * 1000


def _duration(event: Any) -> int:
    return event.duration_ns() if hasattr(event, "duration_ns") else event.duration_us() * 1000


def shape_text(shapes: List[Any], types: List[str]) -> str:
    """Of an op's inputs, as the bridge writes it: "[2,3] [3]Long "."""
    text = ""
    for shape, kind in zip(shapes, types):
        if kind in _TYPES:
            text += "[" + ",".join(str(size) for size in shape) + "]" + _TYPES[kind] + " "
        elif kind == "TensorList":
            text += f"{len(shape)} x "
            if shape:
                text += "[" + ",".join(str(size) for size in shape[0]) + "] "
    return text


def _outermost(events: List[Any]) -> List[Any]:
    """Ops in no other op, but for those that are looked through; in the order of their begins."""
    found = []
    ends: Dict[int, int] = {}  # thread → where its last outermost op ends
    for event in sorted(events, key=lambda one: (_begin(one), -_duration(one))):
        if event.name() in _COMPOSITES or event.name().startswith(_ENGINE):
            continue
        thread, begin = event.start_thread_id(), _begin(event)
        if begin < ends.get(thread, -1):
            continue
        ends[thread] = begin + _duration(event)
        found.append(event)
    return found


def _node_at(marks: List[Tuple[int, int, str]], moment: int) -> Optional[str]:
    return next((name for begin, end, name in marks if begin <= moment < end), None)


def _ops_by_node(events: List[Any]) -> Dict[str, List[Dict[str, Any]]]:
    """Forward ops by when they ran, backward functions by the forward op that asked for them."""
    marks = [(_begin(one), _begin(one) + _duration(one), one.name()[len(_MARK):])
             for one in events if one.name().startswith(_MARK)]
    ops = [one for one in events
           if one.scope() in (_FUNCTION, _BACKWARD) and not one.name().startswith(_MARK)]
    asked: Dict[int, str] = {}  # number of an op in autograd's sequence → its node
    for one in sorted(ops, key=_begin):
        node = _node_at(marks, _begin(one))
        # An op that asks for no gradient has the number that the next one gets: that one counts.
        if node is not None and one.sequence_nr() >= 0:
            asked[one.sequence_nr()] = node
    found: Dict[str, List[Dict[str, Any]]] = {}
    for one in _outermost(ops):
        backward = one.scope() == _BACKWARD
        node = asked.get(one.sequence_nr()) if backward else _node_at(marks, _begin(one))
        if node is None or one.name() == "aten::empty":  # that a range takes for itself
            continue
        found.setdefault(node, []).append(
            {"op": one.name(), "shape": shape_text(one.shapes(), one.dtypes()),
             "pass": "backward" if backward else "forward", "ms": _duration(one) / 1e6})
    return found


def _sum_of(results: Any) -> Optional[torch.Tensor]:
    parts = [one.sum() for one in fx._tensors(results) if one.requires_grad]
    return sum(parts[1:], parts[0]) if parts else None


def _profiled(graph: torch.fx.GraphModule, inputs: Tuple[Any, ...], repeat: int) -> List[Any]:
    """Events of the last of some passes: the first ones find caches cold."""
    parameters = [one for one in graph.parameters() if one.requires_grad]
    kept = [one.grad for one in parameters]
    try:
        for last in [False] * (repeat - 1) + [True]:
            for one in parameters:
                one.grad = None
            with torch.autograd.profiler.profile(enabled=last, record_shapes=True,
                                                 use_kineto=True) as profile:
                loss = _sum_of(_Marking(graph).run(*inputs))
                if loss is not None:
                    loss.backward()
    finally:
        for one, gradient in zip(parameters, kept):
            one.grad = gradient
    assert profile.kineto_results is not None
    return list(profile.kineto_results.events())


def graph_of(model: Any, *inputs: Any, repeat: int = 3, name: str = "") -> Dict[str, Any]:
    """The graph as `save` writes it. `model` is a module on CPUs, in the mode that it trains in."""
    graph = fx._traced(model, inputs)
    result = fx.graph_of(graph, *inputs, repeat=repeat, name=name)
    with fx._untouched(graph, []), torch.enable_grad():
        ops = _ops_by_node(_profiled(graph, inputs, max(2, repeat)))
    for node in result["nodes"]:
        node["ops"] = ops.get(node["name"], [])
    result["version"] = VERSION
    return result


def save(path: str, model: Any, *inputs: Any, repeat: int = 3, name: str = "") -> None:
    """Writes the graph as JSON."""
    text = json.dumps(graph_of(model, *inputs, repeat=repeat, name=name))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")
