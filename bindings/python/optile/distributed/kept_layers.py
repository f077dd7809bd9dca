"""What a training whose layers are on several ranks needs to go on from: each rank keeps those that
it trains, and behind a restart they come from whoever has them. Where a machine may be lost, with
`optile launch --nodes MIN:MAX`, the next rank keeps a copy.
"""

from __future__ import annotations

import io
import os
from typing import Any, Dict, Iterable, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist

from .job import Job
from .kept_state import Kept, StateKeeper, say_begins_anew, was_started_before
from .moves import Broadcast, Layer, pass_layer
from .ranks import gather_numbers, gather_objects

_HELD = "held"  # of a layer: its parameters and buffers
_STATES = "states"  # and what the optimizer keeps of each parameter


def _exchange(mine: Dict[int, Any]) -> Dict[int, Any]:
    """Collective: to the next rank; returns what the rank before this one has sent."""
    packed = io.BytesIO()
    torch.save(mine, packed)
    sent = torch.frombuffer(bytearray(packed.getvalue()), dtype=torch.uint8)
    size = _pass_on(torch.tensor([len(sent)]), torch.empty(1, dtype=torch.int64))
    received = _pass_on(sent, torch.empty(int(size), dtype=torch.uint8))
    return torch.load(io.BytesIO(received.numpy().tobytes()), weights_only=True)


def _pass_on(sent: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    ranks, rank = dist.get_world_size(), dist.get_rank()
    sending = dist.isend(sent, (rank + 1) % ranks)
    dist.recv(received, (rank - 1) % ranks)
    sending.wait()
    return received


def _load_layers(
    layers: Sequence[Layer], optimizer: torch.optim.Optimizer, state: Mapping[str, Any]
) -> None:
    for number, kept in state["layers"].items():
        layer = layers[number]
        with torch.no_grad():
            for tensor, value in zip((*layer.parameters(), *layer.buffers()), kept[_HELD]):
                tensor.copy_(value)
        for parameter, one in zip(layer.parameters(), kept[_STATES]):
            if one:
                optimizer.state[parameter] = one
    torch.set_rng_state(state["random"])


def _load_common(
    optimizer: torch.optim.Optimizer, stateful: Sequence[Any], common: Mapping[str, Any]
) -> None:
    for group, kept in zip(optimizer.param_groups, common["groups"]):
        group.update(kept)
    for one, its_state in zip(stateful, common["stateful"]):
        one.load_state_dict(its_state)


def resume_alone(
    every: Sequence[Kept], layers: Sequence[Layer], optimizer: torch.optim.Optimizer,
    stateful: Sequence[Any],
) -> int:  # fmt: skip
    """One rank that is left of several, whose layers these are: the step from which it goes on;
    0: it has not all of them."""
    for kept in every:
        if len(layers) > 0 and len(kept.state["layers"]) == len(layers):
            _load_layers(layers, optimizer, kept.state)
            _load_common(optimizer, stateful, kept.state["common"])
            return kept.step
    say_begins_anew(True, True)
    return 0


class KeptLayers:
    """Where the job keeps nothing, every training begins with what rank 0 has."""

    def __init__(self, layers: Sequence[Layer], job: Job) -> None:
        self._layers = layers
        self._optimizer = job.optimizer
        self._stateful = job.stateful
        self._keeper = StateKeeper(job.clock, former=True) if job.keep else None
        self._copies = os.environ.get("OPTILE_ELASTIC") == "1"
        self._resumed_from: Optional[int] = None

    def begin(self) -> int:
        """Collective. Every rank has all layers then, of the step that is returned: the last one of
        which each layer was kept by some rank."""
        found = {one.step: one.state for one in self._keeper.found()} if self._keeper else {}
        # One rank alone keeps the whole model, in another form.
        layers = {step: list(state.get("layers", ())) for step, state in found.items()}
        every, started_before = zip(*gather_objects((layers, was_started_before())))
        step, holders = self._last_whole(every)
        if self._keeper is not None and step == 0 and dist.get_rank() == 0:
            say_begins_anew(any(every), any(started_before))
        if step in found:
            _load_layers(self._layers, self._optimizer, found[step])
        for number, layer in enumerate(self._layers):
            pass_layer(layer, self._optimizer, Broadcast(holders.get(number, 0)))
        if step > 0:
            self._load_common(found.get(step), min(holders.values()))
            self._resumed_from = step
        if self._keeper is not None:
            self._keeper.begin_at(step)
        return step

    def _last_whole(
        self, every: Sequence[Mapping[int, Sequence[int]]]
    ) -> Tuple[int, Dict[int, int]]:
        for step in sorted({one for steps in every for one in steps}, reverse=True):
            holders = {layer: rank for rank, steps in enumerate(every)
                       for layer in steps.get(step, ())}  # fmt: skip
            if len(holders) == len(self._layers):
                return step, holders
        return 0, {}

    def _load_common(self, state: Optional[Dict[str, Any]], source: int) -> None:
        """Collective: what all ranks have alike."""
        common = Broadcast(source).pass_object(state["common"] if state else None)
        _load_common(self._optimizer, self._stateful, common)

    def _state(self, own: Iterable[int]) -> Dict[str, Any]:
        layers: Dict[int, Any] = {}
        for number in own:
            layer = self._layers[number]
            layers[number] = {
                _HELD: [one.detach() for one in (*layer.parameters(), *layer.buffers())],
                _STATES: [dict(self._optimizer.state.get(one, {})) for one in layer.parameters()],
            }
        if self._copies:
            layers = {**_exchange(layers), **layers}
        groups = [{name: one for name, one in group.items() if name != "params"}
                  for group in self._optimizer.param_groups]  # fmt: skip
        stateful = [one.state_dict() for one in self._stateful]
        return {"layers": layers, "random": torch.get_rng_state(),
                "common": {"groups": groups, "stateful": stateful}}  # fmt: skip

    def keep(self, step: int, step_seconds: float, own: Iterable[int]) -> None:
        """Behind every step, as the program has left it; `own`: the layers of this rank."""
        if self._keeper is not None:
            self._keeper.keep_where_due(step, step_seconds, lambda: self._state(own),
                                        gather_numbers, all_needed=True)  # fmt: skip

    def report(self) -> Dict[str, Any]:
        return {
            "resumed_from": self._resumed_from,
            "kept_every": self._keeper.every if self._keeper else None,
            "not_kept": self._keeper.reason if self._keeper else "",
        }
