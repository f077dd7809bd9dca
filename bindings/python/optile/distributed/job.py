"""What a program gives to prepare(), whatever the plan."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from typing import Any, Sequence, Tuple

import torch
import torch.distributed as dist

from .layers import Clock, LossFunction
from .ranks import ranks_unlike_first

_LEAST_VERSIONS = {"placement": (2, 0), "splits": (2, 1)}  # of PyTorch, by plan


@dataclass(frozen=True)
class Job:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    loss_fn: LossFunction
    example: Any
    clock: Clock
    keep: bool  # the state of the training
    stateful: Sequence[Any]  # what else belongs to that

    @property
    def ranks(self) -> int:
        return dist.get_world_size() if dist.is_initialized() else 1

    @property
    def rank(self) -> int:
        return dist.get_rank() if dist.is_initialized() else 0

    def check_models_agree(self) -> None:
        """Collective. Raises RuntimeError where ranks have models of other parameters."""
        described = [(name, tuple(one.shape), str(one.dtype)) for name, one in
                     self.model.named_parameters()]  # fmt: skip
        mine = hashlib.sha256(repr(described).encode()).hexdigest()[:16]
        if others := ranks_unlike_first(mine):
            raise RuntimeError(
                f"rank {self.rank}: the model of ranks {others} has other parameters than that "
                "of rank 0; start every rank with the same program and options"
            )


def check_version(plan: str) -> None:
    """Raises RuntimeError where this PyTorch cannot run such a plan."""
    if plan == "pipeline" and importlib.util.find_spec("torch.distributed.pipelining") is None:
        raise RuntimeError(
            f"a pipeline needs torch.distributed.pipelining, which PyTorch {torch.__version__} has "
            "not; 2.13 was tried"
        )
    version = tuple(int(one) for one in torch.__version__.split("+")[0].split(".")[:2])
    least: Tuple[int, ...] = _LEAST_VERSIONS.get(plan, ())
    if version < least:
        raise RuntimeError(
            f'plan="{plan}" needs PyTorch {least[0]}.{least[1]}, and this is {torch.__version__}; '
            "2.13 was tried"
        )
