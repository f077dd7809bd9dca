"""Updates with every k-th mini-batch alone: so few devices train with the larger batch of many (Pal
et al., section 4.2), and say how many epochs it takes to converge.
"""

from __future__ import annotations

from typing import Any

import torch


class DelayedUpdates:
    """Stands for an optimizer. Whatever else it is asked for is the optimizer's own: a schedule of
    learning rates takes that one."""

    def __init__(self, optimizer: torch.optim.Optimizer, count: int) -> None:
        self._optimizer = optimizer
        self._count = count
        self._gathered = 0  # mini-batches whose gradients wait for an update

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Only behind an update: until then gradients are added up."""
        if self._gathered == 0:
            self._optimizer.zero_grad(set_to_none=set_to_none)

    def step(self) -> None:
        """To be called for each mini-batch, as without it."""
        self._gathered += 1
        if self._gathered < self._count:
            return
        self._gathered = 0
        for group in self._optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.div_(self._count)
        self._optimizer.step()


def delayed_updates(optimizer: torch.optim.Optimizer, count: int) -> DelayedUpdates:
    """Behind each `count` mini-batches of equally many rows the optimizer makes one step, that of
    their gradients' mean: the step of a batch that is so many times as large. Raises ValueError
    where the count is no whole number from 1 on."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"updates are made with a whole number of mini-batches, and not {count!r}")
    return DelayedUpdates(optimizer, count)
