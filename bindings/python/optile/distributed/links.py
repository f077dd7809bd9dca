"""What moving bytes takes: to a neighbouring rank, and within a rank's memory."""

from __future__ import annotations

import statistics
from typing import Tuple

import torch
import torch.distributed as dist

from .layers import Clock
from .replicas import Replicas

_PINGS = 8  # the first one does not count: it opens the connection


def _ping(other: int, asks: bool, size: int, clock: Clock) -> float:
    """Seconds of one way, as the rank that asks finds them."""
    data = torch.zeros(size, dtype=torch.uint8)
    seconds = []
    for _ in range(_PINGS):
        begin = clock()
        if asks:
            dist.send(data, other)
        dist.recv(data, other)
        if not asks:
            dist.send(data, other)
        seconds.append(clock() - begin)
    return statistics.median(seconds[1:]) / 2


def measured_link(replicas: Replicas, size: int, clock: Clock) -> Tuple[float, float]:
    """Collective. Of the link to the rank before: seconds of any transfer, and for each byte."""
    found = (0.0, 0.0)
    rank = replicas.rank
    for asking in range(1, replicas.ranks):
        if rank not in (asking - 1, asking):
            continue
        other = replicas.first + (asking - 1 if rank == asking else asking)
        least, most = (_ping(other, rank == asking, one, clock) for one in (1, size))
        if rank == asking:
            found = (least, max(0.0, most - least) / size)
    return found


_COPIED = 16 << 20  # bytes: more than caches near a core hold
_COPIES = 3


def measured_copy(clock: Clock) -> float:
    """Seconds for a byte that this rank copies."""
    source = torch.zeros(_COPIED, dtype=torch.uint8)
    target = torch.empty_like(source)
    took = []
    for _ in range(1 + _COPIES):  # the first one meets memory that is not there yet
        begin = clock()
        target.copy_(source)
        took.append(clock() - begin)
    return max(min(took[1:]), 1e-9) / _COPIED
