"""What all ranks tell each other. Collective, each of them."""

from __future__ import annotations

import atexit
import sys
from typing import Any, List, Sequence

import torch
import torch.distributed as dist


def begin_process_group() -> None:
    """Where the program has not. It ends when the program ends in order: without that PyTorch may
    abort while it ends (its issue 190489). Behind an exception others may still wait for this
    rank, and ending would wait for them."""
    dist.init_process_group("gloo")
    atexit.register(_end_process_group)


def _end_process_group() -> None:
    if dist.is_initialized() and getattr(sys, "last_type", None) is None:
        dist.destroy_process_group()


def gather_objects(mine: Any) -> List[Any]:
    """That of each rank."""
    every: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return every


def gather_numbers(mine: Sequence[float]) -> List[List[float]]:
    """Those of each rank, as many from each."""
    sent = torch.tensor(mine, dtype=torch.float64)
    every = [torch.empty_like(sent) for _ in range(dist.get_world_size())]
    dist.all_gather(every, sent)
    return [one.tolist() for one in every]


def ranks_unlike_first(mine: Any) -> List[int]:
    """Ranks with something else than rank 0."""
    every = gather_objects(mine)
    return [rank for rank, one in enumerate(every) if one != every[0]]
