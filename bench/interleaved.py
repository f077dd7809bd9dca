#!/usr/bin/python3
"""Times several ways to start one workload against each other, interleaved.

Every round runs each of them once, each in a fresh process, in an order that rotates from round to
round. A run's figure is the median of its timed steps; two ways are compared inside each round.

    interleaved.py lstm --blas openblas-openmp --run 'untouched' \\
        --run 'two: OMP_NUM_THREADS=2' --run 'pinned: OMP_NUM_THREADS=2 taskset -c 0,1'

A way is a label, variables, and the words of a command that starts the workload. All ratios are to
the first one.
"""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar

import ratios
import settings
import workload_run
from workload_run import Launch, Measured, RunError, Workload, progress

DEFAULT_ROUNDS = 15
Item = TypeVar("Item")
PROBE_STEPS = 3
PROBE_WARMUP = 2


@dataclass(frozen=True)
class Length:
    """Of each run of one launch."""

    steps: int
    warmup: int
    start_seconds: float  # what a run costs before its first step
    step_seconds: float  # as the probe saw it

    def seconds(self) -> float:
        return self.start_seconds + (self.steps + self.warmup) * self.step_seconds


@dataclass
class Rounds:
    """Runs by label, one for each round."""

    labels: List[str]
    runs: Dict[str, List[Measured]] = field(default_factory=dict)

    def medians(self, label: str) -> List[float]:
        return [run.median for run in self.runs.get(label, [])]

    def step_seconds(self, label: str) -> float:
        return ratios.geometric_mean(self.medians(label))

    def times_as_fast(self, before: str, after: str) -> ratios.Ratio:
        return ratios.times_as_fast(self.medians(before), self.medians(after))

    def complete(self) -> int:
        """Rounds in which every label ran."""
        return min((len(self.runs.get(label, [])) for label in self.labels), default=0)

    def foreign_cores(self) -> float:
        every = [run.foreign_cores for runs in self.runs.values() for run in runs]
        return sum(every) / len(every) if every else 0.0

    def as_json(self) -> Dict[str, Any]:
        return {
            label: {
                "median_seconds": self.medians(label),
                "steps": [len(run.step_seconds) for run in runs],
                "wall_seconds": [run.wall_seconds for run in runs],
                "foreign_cores": [run.foreign_cores for run in runs],
            }
            for label, runs in self.runs.items()
        }


def rotated(items: Sequence[Item], by: int) -> List[Item]:
    cut = by % len(items)
    return [*items[cut:], *items[:cut]]


def probe(launch: Launch, workload: Workload, seconds: float) -> Length:
    """A short run says how many steps make `seconds` of timed ones."""
    run = workload_run.run(launch, workload, PROBE_STEPS, PROBE_WARMUP)
    start = max(0.0, run.wall_seconds - (PROBE_STEPS + PROBE_WARMUP) * run.median)
    steps = workload_run.steps_for(run.median, seconds)
    length = Length(steps, workload_run.warmup_for(run.median), start, run.median)
    progress(
        f"{launch.label}: {run.median * 1e3:.4g} ms a step, "
        f"{length.warmup} + {length.steps} steps a run"
    )
    return length


def measure(
    launches: Sequence[Launch],
    workload: Workload,
    lengths: Mapping[str, Length],
    rounds: int,
    after_round: Optional[Callable[[Rounds], bool]] = None,
) -> Rounds:
    """Runs them interleaved; `after_round` may end it early by returning False."""
    done = Rounds([launch.label for launch in launches])
    if len(set(done.labels)) != len(done.labels):
        raise RunError(f"labels must differ: {', '.join(done.labels)}")
    for number in range(rounds):
        for launch in rotated(launches, number):
            length = lengths[launch.label]
            run = workload_run.run(launch, workload, length.steps, length.warmup)
            done.runs.setdefault(launch.label, []).append(run)
            progress(
                f"round {number + 1}/{rounds} {launch.label}: {run.median * 1e3:.4g} ms a step"
            )
        if after_round is not None and not after_round(done):
            break
    return done


def load_note(rounds: Rounds) -> List[str]:
    foreign = rounds.foreign_cores()
    if foreign <= workload_run.QUIET_CORES:
        return []
    return [
        f"careful: others kept {foreign:.2f} cores busy meanwhile; measure again on a quiet machine"
    ]


# --- the command line -----------------------------------------------------------------------


def parse_way(text: str, provider: str) -> Launch:
    """`label: NAME=value … word word …` as a launch."""
    label, _, rest = text.partition(":")
    words = shlex.split(rest)
    variables = {}
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    env = {**settings.clean_environment(provider), **variables}
    return Launch(label.strip(), env, tuple(words), blas=provider)


def table(rounds: Rounds) -> List[str]:
    first = rounds.labels[0]
    width = max(map(len, rounds.labels))
    lines = [f"{'':{width}}  ms a step  times as fast as {first}, 95 % interval"]
    for label in rounds.labels:
        ratio = "" if label == first else str(rounds.times_as_fast(first, label))
        lines.append(f"{label:{width}}  {rounds.step_seconds(label) * 1e3:9.4g}  {ratio}".rstrip())
    return lines + load_note(rounds)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    workload_run.add_workload_arguments(parser)
    parser.add_argument(
        "--run", action="append", required=True, metavar="LABEL[: NAME=VALUE… WORD…]"
    )
    parser.add_argument("--rounds", type=workload_run.positive, default=DEFAULT_ROUNDS)
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="of timed steps in each run (default 3)"
    )
    options = parser.parse_args(arguments)
    machine = settings.machine_description()
    blas = workload_run.checked_provider(options.blas)
    workload = workload_run.workload_of(options)
    launches = [parse_way(text, options.blas) for text in options.run]
    lengths = {one.label: probe(one, workload, options.seconds) for one in launches}

    def save(rounds: Rounds) -> bool:
        result = {
            "kind": "interleaved", "workload": workload.name, "batch": workload.batch,
            "compiled": workload.compiled,
            "blas": blas, "machine": machine, "rounds": rounds.complete(),
            "runs": rounds.as_json(),
        }  # fmt: skip
        workload_run.write_json(options.json, result)
        return True

    rounds = measure(launches, workload, lengths, options.rounds, save)
    print("\n".join(table(rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("interleaved", main))
