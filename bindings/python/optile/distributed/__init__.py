"""Data parallel training whose shares of the batch follow the ranks' measured speed.

    import optile.distributed as od

    model, optimizer = od.prepare(model, optimizer, loss_fn, example)
    for x, y in batches:  # the whole batch, on every rank
        loss = od.step(x, y)

To be started as PyTorch's distributed programs are (torchrun, mpirun with its variables); in one
process it is plain training. PyTorch's DistributedDataParallel moves the gradients, each weighted
by its rank's rows, so that loss and gradients are those of the whole batch however it is divided.
`loss_fn(outputs, y)` is a mean over rows; the result of `step` is the loss of the whole batch. Call
both from one thread, in every rank equally often.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .shares import ShareController, Window, divide

__all__ = ["prepare", "step", "report"]

_WINDOW = 8  # steps
_UNTIMED = 2  # first ones of a window: other shapes, other memory

LossFunction = Callable[[Any, Any], torch.Tensor]
Clock = Callable[[], float]


def _rows_of(batch: Any, begin: int, end: int) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch[begin:end]
    if isinstance(batch, dict):
        return {name: _rows_of(one, begin, end) for name, one in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch)(_rows_of(one, begin, end) for one in batch)
    raise TypeError(f"a batch holds tensors, in tuples, lists or dicts, and no {type(batch)}")


def _length(batch: Any) -> int:
    while not isinstance(batch, torch.Tensor):
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    return len(batch)


def _check_models_agree(model: torch.nn.Module) -> None:
    described = [(name, tuple(one.shape), str(one.dtype)) for name, one in
                 model.named_parameters()]  # fmt: skip
    mine = hashlib.sha256(repr(described).encode()).hexdigest()[:16]
    found: List[Optional[str]] = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    others = [rank for rank, one in enumerate(found) if one != found[0]]
    if others:
        raise RuntimeError(
            f"rank {dist.get_rank()}: the model of ranks {others} has other parameters than that "
            "of rank 0; start every rank with the same program and options"
        )


class _Training:
    """One model of this process, on its rank."""

    def __init__(
        self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction,
        clock: Clock,
    ) -> None:  # fmt: skip
        self._clock = clock
        self.optimizer = optimizer
        self.loss_fn = loss_fn
        self.model = model
        self.ranks = dist.get_world_size() if dist.is_initialized() else 1
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.controller = ShareController(self.ranks)
        self.steps = 0
        self._began = 0.0
        self._forward_seconds = 0.0
        self._row_seconds: List[float] = []
        self._step_seconds: List[float] = []
        if self.ranks == 1:
            return
        _check_models_agree(model)
        model.register_forward_pre_hook(self._on_forward)
        model.register_forward_hook(self._on_forwarded)
        self.model = DistributedDataParallel(model)

    # Computing is timed where no rank waits for another: inside the forward pass.
    def _on_forward(self, *_: Any) -> None:
        self._began = self._clock()

    def _on_forwarded(self, *_: Any) -> None:
        self._forward_seconds = self._clock() - self._began

    def step(self, x: Any, y: Any) -> torch.Tensor:
        begin = self._clock()
        self.optimizer.zero_grad(set_to_none=True)
        if self.ranks == 1:
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.steps += 1
            return loss.detach()
        rows = divide(self.controller.shares, _length(x))
        first = sum(rows[: self.rank])
        mine = rows[self.rank]
        outputs = self.model(_rows_of(x, first, first + mine))
        loss = self.loss_fn(outputs, _rows_of(y, first, first + mine))
        weight = mine / sum(rows)
        whole = loss.detach() * weight
        summed = dist.all_reduce(whole, async_op=True)
        # What it moves is a mean over ranks.
        (loss * (weight * self.ranks)).backward()
        self.optimizer.step()
        summed.wait()
        self.steps += 1
        self._note(rows, self._clock() - begin)
        return whole

    def _note(self, rows: List[int], seconds: float) -> None:
        self._row_seconds.append(self._forward_seconds / rows[self.rank])
        self._step_seconds.append(seconds)
        if len(self._step_seconds) < _WINDOW + _UNTIMED:
            return
        mine = torch.tensor(
            [statistics.median(one[_UNTIMED:]) for one in (self._row_seconds, self._step_seconds)],
            dtype=torch.float64,
        )
        every = [torch.empty_like(mine) for _ in range(self.ranks)]
        dist.all_gather(every, mine)
        row_seconds = [max(float(one[0]), 1e-9) for one in every]
        window = Window(rows, row_seconds, max(float(one[1]) for one in every))
        self.controller.add(window, self.steps)
        self._row_seconds.clear()
        self._step_seconds.clear()


_training: Optional[_Training] = None


def prepare(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss_fn: LossFunction, example: Any,
    clock: Clock = time.perf_counter,
) -> Tuple[torch.nn.Module, torch.optim.Optimizer]:  # fmt: skip
    """Before the first step, in every rank. `example`: a batch, (x, y); `clock` says seconds. What
    it returns stands for what it was given. Raises where ranks have other models or a batch has
    fewer rows than there are ranks."""
    global _training
    if not dist.is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("gloo")
    training = _Training(model, optimizer, loss_fn, clock)
    divide(training.controller.shares, _length(example))
    _training = training
    return training.model, optimizer


def _prepared() -> _Training:
    if _training is None:
        raise RuntimeError("call optile.distributed.prepare() before its step() and report()")
    return _training


def step(x: Any, y: Any) -> torch.Tensor:
    """Forward, backward and the optimizer's step for the batch `x` with `y`; its loss."""
    return _prepared().step(x, y)


def report() -> Dict[str, Any]:
    """Shares in force, and which others were tried, with what they promised and gained."""
    training = _prepared()
    return {
        "rank": training.rank,
        "steps": training.steps,
        "shares": list(training.controller.shares),
        "changes": [vars(one) for one in training.controller.changes],
    }
