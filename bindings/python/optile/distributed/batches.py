"""Rows of a batch: of tensors, in tuples, lists or dicts."""

from __future__ import annotations

from typing import Any

import torch


def rows_of(batch: Any, begin: int, end: int) -> Any:
    """Raises TypeError for a batch with something else than tensors in it."""
    if isinstance(batch, torch.Tensor):
        return batch[begin:end]
    if isinstance(batch, dict):
        return {name: rows_of(one, begin, end) for name, one in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch)(rows_of(one, begin, end) for one in batch)
    raise TypeError(f"a batch holds tensors, in tuples, lists or dicts, and no {type(batch)}")


def length_of(batch: Any) -> int:
    while not isinstance(batch, torch.Tensor):
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    return len(batch)
