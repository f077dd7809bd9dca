#!/usr/bin/env python3
"""VGG-16 on two ranks with a core each, its layers divided in ways that are chosen beforehand and
in the way that `optile place strategy` finds: how long a step was predicted to take and took
(OptCNN's Table 4), and how it compares with DistributedDataParallel.

    bench/distributed/layer_splits.py --python PYTHON --rounds 5

Rounds are interleaved. Needs a PyTorch of version 2, gloo, two cores, and `optile` in PATH.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List

from unequal_ranks import HERE, comparison_parser, interleaved, run_ranks, two_cores

sys.path.insert(0, str(HERE.parent))

import ratios  # noqa: E402
import workload_run  # noqa: E402

FORMS = {
    "ddp": "DistributedDataParallel",
    "all_n": "all layers by n",
    "all_c": "all layers by c",
    "dense_c": "convolutions by n, dense by c",
    "found": "as found",
}


def run(options: argparse.Namespace, by: str, cores: List[int]) -> Dict[str, Any]:
    command = [
        options.python, str(HERE / "vgg16.py"), "--by", by, "--size", str(options.size),
        "--batch", str(options.batch),
    ]  # fmt: skip
    return run_ranks(command, cores)


def main(arguments: List[str]) -> int:
    parser = comparison_parser(__doc__)
    parser.add_argument("--size", type=workload_run.positive, default=32, help="of an image")
    parser.add_argument("--batch", type=workload_run.positive, default=8)
    options = parser.parse_args(arguments)
    cores = two_cores()
    found = interleaved(list(FORMS), options.rounds, None, lambda by: run(options, by, cores))
    seconds = {by: [one["seconds"] for one in runs] for by, runs in found.items()}
    for by, title in FORMS.items():
        line = f"{title}: {ratios.geometric_mean(seconds[by]) * 1e3:.4g} ms"
        if by != "ddp":
            line += f"; over DDP {ratios.times_as_fast(seconds['ddp'], seconds[by])}"
        if all("predicted_seconds" in one for one in found[by]):
            predicted = [one["predicted_seconds"] for one in found[by]]
            line += f"; predicted, of measured {ratios.times_as_fast(predicted, seconds[by])}"
        used = ratios.geometric_mean([one["processor_seconds"] for one in found[by]])
        print(f"{line}; processor time of rank 0's step {used * 1e3:.4g} ms")
    print(f"n = {options.rounds}; splits found:")
    for one in found["found"]:
        print("  " + " ".join(f"{name}:{split}" for name, split in one["splits"].items()))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("layer_splits", main))
