"""What passing a message between neighbouring ranks takes."""

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
