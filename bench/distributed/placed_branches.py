#!/usr/bin/env python3
"""Blocks with branches on two ranks with a core each: one rank alone, DistributedDataParallel, and
operators placed by optile.distributed, with both cores free and with one shared.

    bench/distributed/placed_branches.py --python PYTHON --rounds 5

Rounds are interleaved. Needs a PyTorch of version 2, gloo, two cores, and `optile` in PATH. Images
of Inception-v3 have at least 75 rows: `--model inception_v3 --size 75 --batch 8`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List

from unequal_ranks import HERE, comparison_parser, interleaved, run_ranks, two_cores

sys.path.insert(0, str(HERE.parent))

import ratios  # noqa: E402
import workload_run  # noqa: E402


def run(options: argparse.Namespace, by: str, cores: List[int]) -> Dict[str, Any]:
    command = [
        options.python, str(HERE / "branches.py"), "--by", by, "--model", options.model,
        "--size", str(options.size), "--batch", str(options.batch),
    ]  # fmt: skip
    return run_ranks(command, cores[:1] if by == "alone" else cores)


def compare(options: argparse.Namespace, cores: List[int], busy: bool) -> None:
    found = interleaved(("alone", "ddp", "placement"), options.rounds, cores[1] if busy else None,
                        lambda by: run(options, by, cores))  # fmt: skip
    seconds = {by: [one["seconds"] for one in runs] for by, runs in found.items()}
    print("one core shared with a busy process" if busy else "both cores free")
    for by in ("alone", "ddp"):
        ratio = ratios.times_as_fast(seconds[by], seconds["placement"])
        print(f"  placed, over {by}: {ratio}")
    for name in seconds:
        print(f"  {name}: {ratios.geometric_mean(seconds[name]) * 1e3:.4g} ms")
    predicted = [one["predicted_seconds"] / one["seconds"] for one in found["placement"]]
    print(f"  predicted, of what steps took: {', '.join(f'{one:.2f}' for one in predicted)}")


def main(arguments: List[str]) -> int:
    parser = comparison_parser(__doc__)
    parser.add_argument("--model", choices=("blocks", "inception_v3"), default="blocks")
    parser.add_argument("--size", type=workload_run.positive, default=16, help="of an image")
    parser.add_argument("--batch", type=workload_run.positive, default=16)
    options = parser.parse_args(arguments)
    cores = two_cores()
    for busy in (False, True):
        compare(options, cores, busy)
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("placed_branches", main))
