#!/usr/bin/python3
"""Finds the best uniform setting of one workload on this machine: the host optimum.

Successive halving over OpenMP threads, BLAS threads, runtime and wait policy: every setting gets a
few steps, the better half twice as many, and so on until three are left; those run interleaved.
A run that is far behind the best one so far is ended early. The program's own start and the
recommendation are among the candidates, so that the optimum is never worse than either.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import interleaved
import settings
import workload_run
from settings import Setting
from workload_run import TooSlow, Workload, progress

FINALISTS = 3
FIRST_STEPS = 3
WARMUP = 2
# A fast program's first rung may have more steps, as long as they take less than this share of what
# its start takes anyway.
STEPS_SHARE = 0.25
MOST_FIRST_STEPS = 48
HOPELESS = 3.0  # times the best step so far: such a run is ended
FINAL_SHARE = 0.4  # of the time, for the finalists
FIRST_SHARE = 0.4  # of the time at most, for the first rung

# Median step seconds of so many steps; None when the run was ended as hopeless.
Measure = Callable[[Setting, int, float], Optional[float]]


@dataclass
class Costs:
    """What runs cost so far, to stay within a time."""

    start_seconds: float = 0.0  # of a run before its first step, the least seen
    best_step: float = math.inf

    def limit(self, steps: int, best: float) -> Optional[float]:
        if not math.isfinite(best) or self.start_seconds <= 0:
            return None
        return 2 * self.start_seconds + 3 + HOPELESS * best * (steps + 2 * WARMUP)

    def of_run(self, step_seconds: float, steps: int) -> float:
        return self.start_seconds + (steps + WARMUP) * step_seconds

    def first_steps(self, asked: int) -> int:
        free = STEPS_SHARE * self.start_seconds / self.best_step
        return max(asked, min(MOST_FIRST_STEPS, int(free)))


@dataclass
class Halving:
    """What the search did, for the result."""

    rungs: List[Dict[str, Any]] = field(default_factory=list)
    untried: List[str] = field(default_factory=list)


def rung(
    candidates: Sequence[Setting], steps: int, measure: Measure, until: float, found: Halving
) -> List[Tuple[float, Setting]]:
    """Runs each candidate once; the answer is sorted, without the hopeless ones."""
    ranked: List[Tuple[float, Setting]] = []
    rows = []
    for number, setting in enumerate(candidates, 1):
        if time.monotonic() > until and len(ranked) >= FINALISTS:
            found.untried += [left.name for left in candidates[number - 1 :]]
            progress(f"out of time: {len(candidates) - number + 1} settings stay untried")
            break
        best = min((seconds for seconds, _ in ranked), default=math.inf)
        seconds = measure(setting, steps, best)
        shown = "far behind, ended" if seconds is None else f"{seconds * 1e3:.4g} ms a step"
        progress(f"{steps} steps, {number}/{len(candidates)} {setting.name}: {shown}")
        rows.append({"setting": setting.name, "step_seconds": seconds})
        if seconds is not None:
            ranked.append((seconds, setting))
    ranked.sort(key=lambda pair: pair[0])
    found.rungs.append({"steps": steps, "runs": rows})
    return ranked


def halve(
    candidates: Sequence[Setting],
    measure: Measure,
    first_steps: int,
    budget_seconds: float,
    costs: Costs,
) -> Tuple[List[Setting], Halving]:
    """The finalists. Each rung keeps the better half, fewer when the time would not do."""
    found = Halving()
    begin = time.monotonic()
    left, steps = list(candidates), first_steps
    share = FIRST_SHARE
    while True:
        ranked = rung(left, steps, measure, begin + share * budget_seconds, found)
        if not ranked:
            raise workload_run.RunError(
                "no setting ended: run the workload by itself to see what is wrong with it"
            )
        share = 1 - FINAL_SHARE
        steps *= 2
        keep = max(FINALISTS, (len(ranked) + 1) // 2)
        remaining = begin + share * budget_seconds - time.monotonic()
        affordable = int(remaining / costs.of_run(ranked[0][0], steps))
        if len(ranked) <= FINALISTS or affordable <= FINALISTS:
            return [setting for _, setting in ranked[:FINALISTS]], found
        left = [setting for _, setting in ranked[: min(keep, affordable)]]
        if len(left) <= FINALISTS:
            return left, found


def measure_with(workload: Workload, provider: str, costs: Costs) -> Measure:
    def measure(setting: Setting, steps: int, best: float) -> Optional[float]:
        launch = workload_run.launch_of(setting, provider)
        limit = costs.limit(steps, best)
        try:
            run = workload_run.run(launch, workload, steps, WARMUP, limit)
        except TooSlow:
            return None
        start = run.wall_seconds - (steps + WARMUP) * run.median
        if start > 0:
            costs.start_seconds = min(costs.start_seconds or start, start)
        costs.best_step = min(costs.best_step, run.median)
        return run.median

    return measure


def run_final(
    finalists: Sequence[Setting], provider: str, workload: Workload, rounds: int, seconds: float
) -> interleaved.Rounds:
    launches = [workload_run.launch_of(setting, provider) for setting in finalists]
    lengths = {one.label: interleaved.probe(one, workload, seconds) for one in launches}
    return interleaved.measure(launches, workload, lengths, rounds)


def seconds_each(budget_seconds: float, runs: int, costs: Costs) -> float:
    """Timed seconds in each of so many runs that fit into the time."""
    each = budget_seconds / max(runs, 1) - costs.start_seconds
    warming = workload_run.warmup_for(costs.best_step) * costs.best_step
    return max(0.2, min(10.0, each - warming))


def lines(result: Dict[str, Any], final: interleaved.Rounds) -> List[str]:
    best = result["optimum"]["name"]
    words = [f"{name}={text}" for name, text in sorted(result["optimum"]["variables"].items())]
    out = [
        f"host optimum of {result['workload']}, BLAS {result['blas']['provider']}: {best}",
        f"  {' '.join(words) or 'nothing set'}",
        f"  {result['step_seconds'] * 1e3:.4g} ms a step over {result['rounds']} rounds",
    ]
    for label in final.labels:
        if label != best:
            out.append(f"  {final.times_as_fast(label, best)} times as fast as {label}")
    if result["untried"]:
        out.append(f"  careful: {len(result['untried'])} settings untried, the time was too short")
    return out + [f"  {note}" for note in interleaved.load_note(final)]


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    workload_run.add_workload_arguments(parser)
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="to stay within, about (default 30)"
    )
    parser.add_argument(
        "--rounds", type=workload_run.positive, default=interleaved.DEFAULT_ROUNDS,
        help="of the last three (default 15)",
    )  # fmt: skip
    parser.add_argument(
        "--first-steps", type=workload_run.positive, default=FIRST_STEPS,
        help="of each setting in the first rung (default 3)",
    )  # fmt: skip
    parser.add_argument(
        "--only", metavar="TEXT", help="only settings with TEXT in their name, to try things out"
    )
    return parser.parse_args(arguments)


def main(arguments: List[str]) -> int:
    options = parse(arguments)
    machine = settings.machine_description()
    blas = workload_run.checked_provider(options.blas)
    workload = workload_run.workload_of(options)
    candidates = settings.grid(options.blas, settings.usable_cores())
    if options.only:
        candidates = [one for one in candidates if options.only in one.name]
    candidates += [settings.recommendation(), settings.untouched()]
    progress(f"{len(candidates)} settings, about {options.minutes:.0f} minutes")
    begin, budget, costs = time.monotonic(), options.minutes * 60, Costs()
    measure = measure_with(workload, options.blas, costs)
    measure(candidates[0], options.first_steps, math.inf)  # says what a start and a step cost
    first_steps = costs.first_steps(options.first_steps)
    finalists, found = halve(candidates, measure, first_steps, budget, costs)
    progress(f"left: {'; '.join(setting.name for setting in finalists)}")
    left = budget - (time.monotonic() - begin)
    seconds = seconds_each(left, (options.rounds + 1) * len(finalists), costs)
    final = run_final(finalists, options.blas, workload, options.rounds, seconds)
    optimum = min(finalists, key=lambda setting: final.step_seconds(setting.name))
    result = {
        "kind": "host_optimum", "workload": workload.name, "batch": workload.batch,
        "compiled": workload.compiled, "blas": blas,
        "machine": machine, "optimum": optimum.as_json(),
        "step_seconds": final.step_seconds(optimum.name), "rounds": final.complete(),
        "finalists": [setting.as_json() for setting in finalists], "final": final.as_json(),
        "rungs": found.rungs, "untried": found.untried, "only": options.only,
        "foreign_cores": final.foreign_cores(), "minutes": (time.monotonic() - begin) / 60,
    }  # fmt: skip
    workload_run.write_json(options.json, result)
    print("\n".join(lines(result, final)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("host_optimum", main))
