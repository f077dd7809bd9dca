#!/usr/bin/python3
"""A workload of bench/workloads whose cores a driver changes between two steps.

    steered_training.py lstm --batch 20 <commands >steps

A command is a line `cores 0,1,2 3`: from the next step on all threads of the process may run there
only, and PyTorch has three of them. Written is the same line and T when that holds, and `step T` at
the end of each step; T is the monotonic clock, which all processes share. Without a command, as
where the input is empty, cores and threads are left alone. Runs until it is ended.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import select
import sys
import time
from typing import List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
import torch  # noqa: E402
import training  # noqa: E402


def confine(cores: List[int], threads: int) -> None:
    """Threads that come later inherit the mask of the one that makes them."""
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), cores)
        except ProcessLookupError:
            pass
    torch.set_num_threads(threads)


class Commands:
    """Lines from standard input, read without waiting."""

    def __init__(self) -> None:
        self._text = b""
        self._open = True

    def take(self) -> List[str]:
        while self._open and select.select([0], [], [], 0)[0]:
            read = os.read(0, 4096)
            self._text += read
            self._open = bool(read)
        *lines, self._text = self._text.split(b"\n")
        return [line.decode() for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload")
    parser.add_argument("--batch", type=int, required=True)
    words = parser.parse_args()
    options = training.Options(
        steps=1, warmup=0, batch=words.batch, seed=1, json_path=None, quiet=True, threads=None
    )
    torch.manual_seed(options.seed)
    trainer = importlib.import_module(words.workload).make(options)
    commands = Commands()
    for index in range(sys.maxsize):
        for line in commands.take():
            _, cores, threads = line.split()
            confine([int(core) for core in cores.split(",")], int(threads))
            print(line, time.monotonic(), flush=True)
        trainer.step(index)
        print("step", time.monotonic(), flush=True)


if __name__ == "__main__":
    main()
