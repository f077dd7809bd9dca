"""Where the threads of a process may run."""
from __future__ import annotations

import os
from typing import Dict, Set


def masks(pid: int) -> Dict[int, Set[int]]:
    """Of every thread, by its tid: the processing units."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            found[int(tid)] = os.sched_getaffinity(int(tid))
        except ProcessLookupError:  # ended since
            continue
    return found
