"""The layers of a model that can be a pipeline, and what a warm-up tells of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

import torch
from torch import nn

from .stages import profile_of

_ROUNDS = 4  # the first one, with other memory, does not count

LossFunction = Callable[[Any, Any], torch.Tensor]
Clock = Callable[[], float]


@dataclass(frozen=True)
class TensorLayout:
    """A tensor without its values."""

    shape: Tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool

    def empty(self) -> torch.Tensor:
        return torch.empty(self.shape, dtype=self.dtype, requires_grad=self.requires_grad)

    def bytes(self) -> int:
        return int(torch.empty(self.shape, dtype=self.dtype, device="meta").nbytes)


@dataclass(frozen=True)
class WarmUp:
    """What this rank measured for a micro-batch of one size."""

    forward: Sequence[float]  # seconds, for each layer
    backward: Sequence[float]
    inputs: Sequence[TensorLayout]  # of each layer, and last the model's output
    loss_dtype: torch.dtype


def layers_of(model: nn.Module) -> List[nn.Module]:
    """Layers that the model runs one after the other. Raises TypeError for a model that does not
    say so, ValueError where layers share parameters."""
    if isinstance(model, nn.Sequential):
        layers = list(model)
    elif hasattr(model, "pipeline_layers"):
        layers = list(model.pipeline_layers())
    else:
        raise TypeError(
            "a pipeline takes an nn.Sequential, or a module whose pipeline_layers() gives the "
            f"layers that its forward() runs one after the other; {type(model).__name__} is neither"
        )
    owner: Dict[nn.Parameter, int] = {}
    for number, layer in enumerate(layers):
        for parameter in layer.parameters():
            if owner.setdefault(parameter, number) != number:
                raise ValueError(
                    f"layers {owner[parameter]} and {number} share a parameter, and could not be "
                    "stages of their own"
                )
    if any(parameter not in owner for parameter in model.parameters()):
        raise ValueError(f"{type(model).__name__} has parameters outside its layers")
    return layers


def modifies_input(layer: nn.Module) -> bool:
    """Whether it may not be given what a stage received, which autograd keeps."""
    return any(getattr(module, "inplace", False) for module in layer.modules())


class _Round:
    """Each layer once, forward and at once backward."""

    def __init__(self, layers: Sequence[nn.Module], loss_fn: LossFunction, clock: Clock) -> None:
        self._layers = layers
        self._loss_fn = loss_fn
        self._clock = clock
        self.forward: List[float] = []
        self.backward: List[float] = []
        self.inputs: List[TensorLayout] = []
        self.loss_dtype = torch.float32

    def run(self, x: torch.Tensor, y: torch.Tensor) -> None:
        for number, layer in enumerate(self._layers):
            last = number == len(self._layers) - 1
            x = self._run_layer(number, layer, x, y if last else None)
        self._note(x)

    def _note(self, x: torch.Tensor) -> None:
        self.inputs.append(TensorLayout(tuple(x.shape), x.dtype, x.requires_grad))

    def _run_layer(self, number: int, layer: nn.Module, x: torch.Tensor, y: Any) -> torch.Tensor:
        self._note(x)
        given = x.detach().requires_grad_(x.requires_grad)
        used = given.clone() if modifies_input(layer) else given
        begin = self._clock()
        output = layer(used)
        if not isinstance(output, torch.Tensor):
            raise TypeError(
                f"layer {number}, {type(layer).__name__}, returns a {type(output).__name__}; a "
                "stage of a pipeline passes one tensor on"
            )
        ended = output if y is None else self._loss_fn(output, y)
        middle = self._clock()
        self.forward.append(middle - begin)
        self.loss_dtype = ended.dtype
        self.backward.append(0.0)
        if ended.requires_grad:
            wanted = [one for one in (given, *layer.parameters()) if one.requires_grad]
            gradient = torch.ones_like(ended)
            begin = self._clock()
            torch.autograd.grad(ended, wanted, gradient, allow_unused=True)
            self.backward[-1] = self._clock() - begin
        return output.detach().requires_grad_(output.requires_grad)


def with_restored(buffers: Iterable[torch.Tensor], run: Callable[[], Any]) -> Any:
    """What the run gives; these buffers and random numbers are afterwards as before."""
    copies = [(one, one.clone()) for one in buffers]
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            return run()
    finally:
        with torch.no_grad():
            for one, before in copies:
                one.copy_(before)


def warm_up(
    model: nn.Module, loss_fn: LossFunction, x: torch.Tensor, y: torch.Tensor, clock: Clock
) -> WarmUp:
    """Runs every layer on these rows a few times. Parameters, their gradients, buffers and random
    numbers are as before."""
    layers = layers_of(model)
    rounds = []

    def run() -> None:
        for _ in range(_ROUNDS):
            rounds.append(_Round(layers, loss_fn, clock))
            rounds[-1].run(x, y)

    with_restored(model.buffers(), run)
    return WarmUp(
        profile_of([one.forward for one in rounds[1:]]),
        profile_of([one.backward for one in rounds[1:]]),
        rounds[0].inputs,
        rounds[0].loss_dtype,
    )
