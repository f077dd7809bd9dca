#!/usr/bin/python3
"""Runs a command while others keep cores busy, as on a shared machine.

    bench/with_neighbours.py 2 -- bench/host_optimum.py lstm --blas openblas-pthread --minutes 8

Each neighbour is one process that never waits. They end with the command, however it ends.
"""

from __future__ import annotations

import subprocess
import sys
from typing import List

import workload_run
from workload_run import RunError, progress

SPIN = "while True: pass"
MOST = 256


def parse(arguments: List[str]) -> "tuple[int, List[str]]":
    if len(arguments) < 2 or not arguments[0].isdigit() or not 1 <= int(arguments[0]) <= MOST:
        raise RunError("how many, then a command: with_neighbours.py 2 -- CMD")
    command = arguments[1:]
    return int(arguments[0]), command[1:] if command[0] == "--" else command


def main(arguments: List[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(__doc__ or "")
        return 0
    count, command = parse(arguments)
    progress(f"{count} neighbours keep a core busy each")
    neighbours = [
        subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.DEVNULL,
                         start_new_session=True)  # fmt: skip
        for _ in range(count)
    ]
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        for neighbour in neighbours:
            workload_run.end_process(neighbour)


if __name__ == "__main__":
    sys.exit(workload_run.command_line("with_neighbours", main))
