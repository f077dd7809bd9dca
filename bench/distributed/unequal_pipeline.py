#!/usr/bin/env python3
"""A pipeline on two ranks with a core each, one core shared with a busy process: equal stages, the
best boundary of all that there are, and what optile.distributed finds while it runs.

    bench/distributed/unequal_pipeline.py --python PYTHON --rounds 5

First every boundary runs --tries times; then rounds of the three are interleaved. Needs a PyTorch
with torch.distributed.pipelining, gloo, and two cores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Any, Dict, List, Optional

from unequal_ranks import BUSY, HERE, bound, run_ranks, two_cores

sys.path.insert(0, str(HERE.parent))

import ratios  # noqa: E402
import workload_run  # noqa: E402
from workload_run import progress  # noqa: E402

LAYERS = 12


def run(options: argparse.Namespace, cores: List[int], boundary: Optional[int]) -> Dict[str, Any]:
    command = [
        options.python, str(HERE / "pipeline.py"), "--layers", str(LAYERS),
        "--schedule", options.schedule, "--micro-batches", str(options.micro_batches),
    ]  # fmt: skip
    if boundary is not None:
        command += ["--boundaries", str(boundary)]
    return run_ranks(command, cores)


def best_boundary(options: argparse.Namespace, cores: List[int]) -> int:
    """The quickest in the mean of its tries."""
    seconds: Dict[int, List[float]] = {one: [] for one in range(1, LAYERS)}
    for _ in range(options.tries):
        for boundary, found in seconds.items():
            found.append(run(options, cores, boundary)["seconds"])
            progress(f"boundary {boundary}: {found[-1] * 1e3:.4g} ms")
    return min(seconds, key=lambda one: ratios.geometric_mean(seconds[one]))


def compare(options: argparse.Namespace, cores: List[int]) -> None:
    best = best_boundary(options, cores)
    forms = {"equal": LAYERS // 2, "best": best, "optile": None}
    found: Dict[str, List[Dict[str, Any]]] = {form: [] for form in forms}
    for number in range(options.rounds):
        order = list(forms) if number % 2 == 0 else list(forms)[::-1]
        for form in order:
            found[form].append(run(options, cores, forms[form]))
            progress(f"round {number + 1} {form}: {found[form][-1]['seconds'] * 1e3:.4g} ms")
    seconds = {form: [one["seconds"] for one in runs] for form, runs in found.items()}
    print(f"boundary {best} of 1 to {LAYERS - 1} was the best of {options.tries} tries each")
    for form, taken in seconds.items():
        faster = ratios.times_as_fast(seconds["equal"], taken)
        print(f"{form}: {ratios.geometric_mean(taken) * 1e3:.1f} ms, {faster}")
    print(f"optile by best: {ratios.times_as_fast(seconds['best'], seconds['optile'])}")
    for one in found["optile"]:
        kept = sum(change["kept"] for change in one["changes"])
        print(
            f"optile: boundary {one['boundaries'][0]}, predicted "
            f"{one['predicted_seconds'] * 1e3:.1f} ms, measured "
            f"{one['measured_seconds'] * 1e3:.1f}; {kept} of {len(one['changes'])} changes kept"
        )


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="one with PyTorch's pipelining")
    parser.add_argument("--rounds", type=workload_run.positive, default=5)
    parser.add_argument("--tries", type=workload_run.positive, default=2)
    parser.add_argument("--micro-batches", type=workload_run.positive, default=4)
    parser.add_argument("--schedule", default="1f1b")
    options = parser.parse_args(arguments)
    cores = two_cores()
    neighbour = subprocess.Popen(bound(cores[1], sys.executable, "-c", BUSY))
    try:
        compare(options, cores)
    finally:
        neighbour.kill()
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("unequal_pipeline", main))
