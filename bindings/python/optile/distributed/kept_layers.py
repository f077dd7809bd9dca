"""What a training whose layers are on several ranks needs to go on from: each rank keeps those that
it trains, and behind a restart they come from whoever has them.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import torch
import torch.distributed as dist

from .kept_state import StateKeeper
from .layers import Clock
from .moves import Broadcast, Layer, pass_layer
from .ranks import gather_numbers, gather_objects

_HELD = "held"  # of a layer: its parameters and buffers
_STATES = "states"  # and what the optimizer keeps of each parameter


class KeptLayers:
    """`keep`: False, and every training begins with what rank 0 has."""

    def __init__(
        self, layers: Sequence[Layer], optimizer: torch.optim.Optimizer, stateful: Sequence[Any],
        clock: Clock, keep: bool,
    ) -> None:  # fmt: skip
        self._layers = layers
        self._optimizer = optimizer
        self._stateful = stateful
        self._keeper = StateKeeper(clock, former=True) if keep else None
        self._resumed_from: Optional[int] = None

    def begin(self) -> int:
        """Collective. Every rank has all layers then, of the step that is returned: the last one of
        which each layer was kept by some rank."""
        found = {one.step: one.state for one in self._keeper.found()} if self._keeper else {}
        every = gather_objects({step: list(state["layers"]) for step, state in found.items()})
        step, holders = self._last_whole(every)
        if step in found:
            self._load(found[step])
        for number, layer in enumerate(self._layers):
            pass_layer(layer, self._optimizer, Broadcast(holders.get(number, 0)))
        if step > 0:
            self._load_common(found.get(step), min(holders.values()))
            self._resumed_from = step
        if self._keeper is not None:
            self._keeper.begin_at(step)
        return step

    def _last_whole(self, every: List[Mapping[int, Sequence[int]]]) -> Tuple[int, Dict[int, int]]:
        for step in sorted({one for steps in every for one in steps}, reverse=True):
            holders = {layer: rank for rank, steps in enumerate(every)
                       for layer in steps.get(step, ())}  # fmt: skip
            if len(holders) == len(self._layers):
                return step, holders
        return 0, {}

    def _load(self, state: Dict[str, Any]) -> None:
        for number, kept in state["layers"].items():
            layer = self._layers[number]
            with torch.no_grad():
                held = (*layer.parameters(), *layer.buffers())
                for tensor, value in zip(held, kept[_HELD]):
                    tensor.copy_(value)
            for parameter, one in zip(layer.parameters(), kept[_STATES]):
                if one:
                    self._optimizer.state[parameter] = one
        torch.set_rng_state(state["random"])

    def _load_common(self, state: Optional[Dict[str, Any]], source: int) -> None:
        """Collective: what all ranks have alike."""
        common = Broadcast(source).pass_object(state["common"] if state else None)
        for group, kept in zip(self._optimizer.param_groups, common["groups"]):
            group.update(kept)
        for one, its_state in zip(self._stateful, common["stateful"]):
            one.load_state_dict(its_state)

    def _state(self, own: Iterable[int]) -> Dict[str, Any]:
        layers = {}
        for number in own:
            layer = self._layers[number]
            layers[number] = {
                _HELD: [one.detach() for one in (*layer.parameters(), *layer.buffers())],
                _STATES: [dict(self._optimizer.state.get(one, {})) for one in layer.parameters()],
            }
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
