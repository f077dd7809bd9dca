"""Which cores ranks may use, and by which clock their computing is measured."""

from __future__ import annotations

import os
import socket
import time
from typing import Optional

import torch
import torch.distributed as dist

from .layers import Clock
from .ranks import gather_objects
from .shared_cores import RankCores, SharedCores


def _host() -> str:
    """The same for all whose cores one kernel numbers: containers have names of their own."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return socket.gethostname()


def gather_cores(clock: Clock) -> Optional[SharedCores]:
    """Collective. None: no rank shares cores with another one of the job. With a clock that the
    program has given each rank is taken to have cores of its own, since only that clock knows."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    threads = torch.get_num_threads() if clock is time.perf_counter else 0
    every = gather_objects(RankCores(_host(), cores, threads))
    found = SharedCores(every)
    return found if found.any else None


def shares_cores(cores: Optional[SharedCores]) -> bool:
    """This rank, with others."""
    return cores is not None and cores.shares(dist.get_rank())


def computing_clock(clock: Clock, cores: Optional[SharedCores]) -> Clock:
    """For what this rank computes. Where it shares its cores that is the process's own time on
    them, what gloo's threads take among it, as if all its threads always ran at once: how long it
    had to wait for others depends on the plan, which is simulated."""
    if cores is None or not shares_cores(cores):
        return clock
    used = cores.used(dist.get_rank())
    return lambda: time.process_time() / used
