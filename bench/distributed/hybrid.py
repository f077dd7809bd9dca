#!/usr/bin/env python3
"""Dense layers on four ranks, which share the cores given: DistributedDataParallel of four, a
hybrid of two replicas of two ranks, and a pipeline of four, with the same batch. Last, what
model_ranks="auto" chooses.

    bench/distributed/hybrid.py --python PYTHON --rounds 5

Rounds are interleaved. Needs a PyTorch with torch.distributed.pipelining, gloo, and `optile` in
PATH. Ranks that share a core do not run at once: what separate machines would do it does not say.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Dict, List

from unequal_ranks import HERE, comparison_parser, interleaved, run_ranks

sys.path.insert(0, str(HERE.parent))

import ratios  # noqa: E402
import workload_run  # noqa: E402

RANKS = 4


def run(options: argparse.Namespace, by: str, cores: List[int]) -> Dict[str, Any]:
    command = [
        options.python, str(HERE / "hybrid_rank.py"), "--by", by, "--width", str(options.width),
        "--batch", str(options.batch), "--steps", str(options.steps),
    ]  # fmt: skip
    return run_ranks(command, cores)


def main(arguments: List[str]) -> int:
    parser = comparison_parser(__doc__)
    parser.add_argument("--width", type=workload_run.positive, default=512)
    parser.add_argument("--batch", type=workload_run.positive, default=256)
    parser.add_argument("--steps", type=workload_run.positive, default=40)
    options = parser.parse_args(arguments)
    available = sorted(os.sched_getaffinity(0))
    cores = [available[rank % len(available)] for rank in range(RANKS)]
    found = interleaved(("ddp", "hybrid", "pipeline"), options.rounds, None,
                        lambda by: run(options, by, cores))  # fmt: skip
    seconds = {by: [one["seconds"] for one in runs] for by, runs in found.items()}
    print(f"{RANKS} ranks on {len(set(cores))} cores, n = {options.rounds}")
    for by, taken in seconds.items():
        print(f"  {by}: {ratios.geometric_mean(taken) * 1e3:.4g} ms")
    for by in ("ddp", "pipeline"):
        print(f"  hybrid, over {by}: {ratios.times_as_fast(seconds[by], seconds['hybrid'])}")
    for by in ("hybrid", "pipeline"):
        predicted = [one["predicted_seconds"] / one["seconds"] for one in found[by]]
        print(f"  {by}: predicted, of what steps took: "
              f"{', '.join(f'{one:.2f}' for one in predicted)}")  # fmt: skip
    choice = run(options, "auto", cores)["choice"]
    print(f"  auto: {choice['replicas']} replicas of {choice['model_ranks']}, since "
          f"{choice['because']}; speed-ups {choice['speedups']}, efficiencies "
          f"{choice['efficiencies']}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("hybrid", main))
