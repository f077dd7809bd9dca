#!/usr/bin/env python3
"""How long steps were predicted to take, beside what they took and beside the processor time of
the core that had most to do, which no step is shorter than: layers divided over two ranks with a
core each, a pipeline of four ranks and a hybrid that share two cores, and a pipeline of two ranks
with two threads each, which may use both cores.

    bench/distributed/predictions.py --python PYTHON --rounds 5 --before CHECKOUT

Rounds are interleaved, with those of another checkout where one is named. Needs a PyTorch with
torch.distributed.pipelining, gloo, two cores, and `optile` in PATH.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import sys
from typing import Any, Dict, List, Sequence, Tuple

from unequal_ranks import HERE, interleaved, run_ranks

sys.path.insert(0, str(HERE.parent))

import ratios  # noqa: E402
import workload_run  # noqa: E402
from workload_run import RunError  # noqa: E402

RANK_PROGRAMS = ("vgg16.py", "hybrid_rank.py", "timed_rank.py")
# The program with its options, and which of two cores each rank may use.
FORMS: Dict[str, Tuple[List[str], List[Tuple[int, ...]]]] = {
    "all layers by c": (["vgg16.py", "--by", "all_c"], [(0,), (1,)]),
    "all layers by n": (["vgg16.py", "--by", "all_n"], [(0,), (1,)]),
    "pipeline of four": (["hybrid_rank.py", "--by", "pipeline"], [(0,), (1,)] * 2),
    "two replicas of two": (["hybrid_rank.py", "--by", "hybrid"], [(0,), (1,)] * 2),
    "unbound pipeline of two": (
        ["hybrid_rank.py", "--by", "pipeline", "--threads", "2"], [(0, 1)] * 2,
    ),
}  # fmt: skip


def busiest_seconds(processor: Sequence[float], masks: Sequence[Tuple[int, ...]]) -> float:
    """Of the core with most to do in a step, ranks using theirs equally."""
    used = {core: 0.0 for mask in masks for core in mask}
    for seconds, mask in zip(processor, masks):
        for core in mask:
            used[core] += seconds / len(mask)
    return max(used.values())


def run(python: str, checkout: pathlib.Path, name: str, cores: Sequence[int]) -> Dict[str, Any]:
    (program, *options), masks = FORMS[name]
    command = [python, str(checkout / "bench" / "distributed" / program), *options]
    bound = [",".join(str(cores[one]) for one in mask) for mask in masks]
    found = run_ranks(command, bound)
    found["busiest"] = busiest_seconds(found["processor_seconds_of_ranks"], masks)
    return found


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=workload_run.positive, default=5)
    parser.add_argument("--before", type=pathlib.Path,
                        help="an exported tree; gets this one's programs of ranks")  # fmt: skip
    parser.add_argument("--forms", nargs="*", choices=list(FORMS), default=list(FORMS))
    options = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise RunError("two cores are needed")
    checkouts = {"now": HERE.parents[1]}
    if options.before is not None:
        for one in RANK_PROGRAMS:
            shutil.copy(HERE / one, options.before / "bench" / "distributed" / one)
        checkouts = {"before": options.before, **checkouts}
    forms = [f"{name}, {when}" for name in options.forms for when in checkouts]

    def run_form(form: str) -> Dict[str, Any]:
        name, when = form.rsplit(", ", 1)
        return run(options.python, checkouts[when], name, cores)

    found = interleaved(forms, options.rounds, None, run_form)
    for form, runs in found.items():
        predicted = [one["predicted_seconds"] for one in runs]
        steps = [one["seconds"] for one in runs]
        busiest = [one["busiest"] for one in runs]
        print(f"{form}: a step {ratios.geometric_mean(steps) * 1e3:.4g} ms, the busiest core "
              f"{ratios.geometric_mean(busiest) * 1e3:.4g} ms; predicted, of the step "
              f"{ratios.times_as_fast(predicted, steps)}, of the busiest core "
              f"{ratios.times_as_fast(predicted, busiest)}")  # fmt: skip
    print(f"n = {options.rounds}")
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("predictions", main))
