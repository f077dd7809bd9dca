"""Passing layers between ranks: weights, buffers, and what an optimizer knows of each parameter."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Protocol, Sequence

import torch
import torch.distributed as dist
from torch import nn

from .layers import TensorLayout


class Path(Protocol):
    """From one rank to others; each of them passes the same things in the same order."""

    sends: bool

    def pass_object(self, value: Any) -> Any: ...

    def pass_tensor(self, tensor: torch.Tensor) -> None:
        """In place."""


class Send:
    sends = True

    def __init__(self, to: int) -> None:
        self._to = to

    def pass_object(self, value: Any) -> Any:
        dist.send_object_list([value], self._to)
        return value

    def pass_tensor(self, tensor: torch.Tensor) -> None:
        dist.send(tensor, self._to)


class Receive:
    sends = False

    def __init__(self, source: int) -> None:
        self._source = source

    def pass_object(self, value: Any) -> Any:
        received = [value]
        dist.recv_object_list(received, self._source)
        return received[0]

    def pass_tensor(self, tensor: torch.Tensor) -> None:
        dist.recv(tensor, self._source)


class Broadcast:
    def __init__(self, source: int) -> None:
        self._source = source
        self.sends = dist.get_rank() == source

    def pass_object(self, value: Any) -> Any:
        passed = [value]
        dist.broadcast_object_list(passed, self._source)
        return passed[0]

    def pass_tensor(self, tensor: torch.Tensor) -> None:
        dist.broadcast(tensor, self._source)


def _pass_values(tensor: torch.Tensor, path: Path) -> None:
    if tensor.numel() == 0:
        return
    passed = tensor.detach().contiguous()  # what gloo asks for
    path.pass_tensor(passed)
    if not path.sends and passed.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(passed)


def _described(state: Dict[str, Any]) -> Dict[str, Any]:
    """Tensors by their layout; whatever else an optimizer keeps, as it is."""
    return {
        name: TensorLayout(tuple(one.shape), one.dtype, False)
        if isinstance(one, torch.Tensor) else one
        for name, one in state.items()
    }  # fmt: skip


class Layer(Protocol):
    """A module, or whatever else has tensors of its own."""

    def parameters(self) -> Iterator[nn.Parameter]: ...
    def buffers(self) -> Iterator[torch.Tensor]: ...


def pass_layer(layer: Layer, optimizer: torch.optim.Optimizer, path: Path) -> None:
    """Collective over the ranks of the path. Where it receives, what the layer and the optimizer
    held is replaced."""
    for tensor in (*layer.parameters(), *layer.buffers()):
        _pass_values(tensor, path)
    parameters = list(layer.parameters())
    states: List[Dict[str, Any]] = [optimizer.state.get(one, {}) for one in parameters]
    layouts = path.pass_object([_described(one) for one in states] if path.sends else None)
    for parameter, state, layout in zip(parameters, states, layouts):
        if not path.sends:
            state = {
                name: one.empty() if isinstance(one, TensorLayout) else one
                for name, one in layout.items()
            }
        for name, one in layout.items():
            if isinstance(one, TensorLayout):
                _pass_values(state[name], path)
        if path.sends:
            continue
        optimizer.state.pop(parameter, None)
        if state:
            optimizer.state[parameter] = state


def forget_layer(layer: Layer, optimizer: torch.optim.Optimizer) -> None:
    """It is another rank's: neither gradients nor an optimizer's state are kept for it."""
    for parameter in layer.parameters():
        parameter.grad = None
        optimizer.state.pop(parameter, None)


def move_layers(
    layers: Sequence[Layer], before: Sequence[int], after: Sequence[int],
    optimizer: torch.optim.Optimizer,
) -> None:  # fmt: skip
    """Collective: each layer from its rank to its next one. Every rank goes through the layers in
    the same order, so that none of them waits in a circle."""
    rank = dist.get_rank()
    for layer, source, to in zip(layers, before, after):
        if source == to or rank not in (source, to):
            continue
        if rank == source:
            pass_layer(layer, optimizer, Send(to))
            forget_layer(layer, optimizer)
        else:
            pass_layer(layer, optimizer, Receive(source))
