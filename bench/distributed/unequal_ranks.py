#!/usr/bin/env python3
"""Data parallel training on two ranks with a core each, by DistributedDataParallel with equal
shares and by optile.distributed: both cores free, and one shared with a busy process.

    bench/distributed/unequal_ranks.py --rounds 10

Rounds are interleaved. Needs PyTorch with gloo, and two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import ratios  # noqa: E402
import workload_run  # noqa: E402
from workload_run import RunError, progress  # noqa: E402

BUSY = "while True: pass"
PATIENCE = 120.0


def comparison_parser(
    description: str, python: str = sys.executable, rounds: int = 5
) -> argparse.ArgumentParser:
    """With the options that every comparison of ranks has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=python, help="one with PyTorch")
    parser.add_argument("--rounds", type=workload_run.positive, default=rounds)
    return parser


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def two_cores() -> List[int]:
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise RunError("two cores are needed")
    return cores


def bound(core: Union[int, str], *command: str) -> List[str]:
    """`core`: one, or several as taskset takes them."""
    return ["taskset", "-c", str(core), *command]


def run_ranks(command: List[str], cores: Sequence[Union[int, str]]) -> Dict[str, Any]:
    """The same command for each rank, one on each core, as bound() takes them; what the first one
    says as JSON."""
    port = free_port()
    started = []
    for rank, core in enumerate(cores):
        environment = {
            **os.environ, "RANK": str(rank), "WORLD_SIZE": str(len(cores)),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
        }  # fmt: skip
        started.append(
            subprocess.Popen(
                bound(core, *command), env=environment, stdout=subprocess.PIPE, text=True
            )
        )
    try:
        told = [one.communicate(timeout=PATIENCE)[0] for one in started]
    finally:
        for one in started:
            if one.poll() is None:
                one.kill()
    if any(one.returncode != 0 for one in started):
        raise RunError(f"a rank of {' '.join(command)} failed, see above")
    return json.loads(told[0])


def run(options: argparse.Namespace, by: str, cores: List[int]) -> Dict[str, Any]:
    return run_ranks([options.python, str(HERE / "dense.py"), "--by", by], cores)


def interleaved(
    forms: Sequence[str], rounds: int, busy_core: Optional[int],
    run_one: Callable[[str], Dict[str, Any]],
) -> Dict[str, List[Dict[str, Any]]]:  # fmt: skip
    """What every form says in each round, beside a busy process where a core for it is named."""
    found: Dict[str, List[Dict[str, Any]]] = {form: [] for form in forms}
    neighbour = None
    if busy_core is not None:
        neighbour = subprocess.Popen(bound(busy_core, sys.executable, "-c", BUSY))
    try:
        for number in range(rounds):
            order = list(found) if number % 2 == 0 else list(found)[::-1]
            for form in order:
                found[form].append(run_one(form))
                progress(f"round {number + 1} {form}: {found[form][-1]['seconds'] * 1e3:.4g} ms")
    finally:
        if neighbour is not None:
            neighbour.kill()
    return found


def compare(options: argparse.Namespace, cores: List[int], busy: bool) -> Dict[str, Any]:
    found = interleaved(("ddp", "optile"), options.rounds, cores[1] if busy else None,
                        lambda by: run(options, by, cores))  # fmt: skip
    seconds = {by: [one["seconds"] for one in runs] for by, runs in found.items()}
    return {
        "times_as_fast": ratios.times_as_fast(seconds["ddp"], seconds["optile"]),
        "ddp_ms": ratios.geometric_mean(seconds["ddp"]) * 1e3,
        "optile_ms": ratios.geometric_mean(seconds["optile"]) * 1e3,
        "shares": [one["shares"] for one in found["optile"]],
    }


def main(arguments: List[str]) -> int:
    parser = comparison_parser(__doc__, "/usr/bin/python3", rounds=10)
    options = parser.parse_args(arguments)
    cores = two_cores()
    for title, busy in (("both cores free", False), ("one core shared", True)):
        found = compare(options, cores, busy)
        shares = found["shares"][-1]
        print(
            f"{title}: DDP {found['ddp_ms']:.1f} ms a step, optile.distributed "
            f"{found['optile_ms']:.1f}; times as fast {found['times_as_fast']}, "
            f"n = {options.rounds}; last shares {', '.join(f'{one:.2f}' for one in shares)}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("unequal_ranks", main))
