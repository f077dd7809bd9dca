#!/usr/bin/python3
"""The step simulator against life: ratios between step times, simulated and measured.

What each op takes at every width comes from runs at uniform widths that optile observes
(`observed_curves`). From that a step graph is made and simulated under uniform settings and under
strategies 1 and 2; the same are run for real, interleaved and unobserved. What is compared is how
many times as fast each is as all cores.

    against_life.py lstm --blas openblas-openmp --build build --json life.json

--graph keeps that step graph, which bench/emulated_machine.py plays on more processors;
--observe-only ends with it.

The strategies run as `optile run --strategy 1` and `2`, each a second run that replays its plan.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import ablation
import interleaved
import observed_curves
import oracle
import private_daemon
import ratios
import settings
import workload_run
from interleaved import Rounds
from private_daemon import PrivateDaemon
from workload_run import Launch, RunError, Workload, progress

WAIT = "libomp 1 ms"  # the launch plan's: the curves were measured so
STRATEGIES = {"strategy 1": ("1", "s1"), "strategy 2": ("2", "s12")}  # of run, of simulate
GOAL = 0.10  # how far a simulated ratio may be off, or as far as the measured interval reaches
SIMULATE_SECONDS = 120.0
REST = "rest"  # what a step takes in no op

Json = Dict[str, Any]


# --- the step graph: pure --------------------------------------------------------------------


def completed(times: Mapping[int, float], cores: int) -> List[float]:
    """Seconds by width: between measured widths on a line, beyond them as at the last."""
    known = sorted(times)
    found = []
    for width in range(1, cores + 1):
        below = max((one for one in known if one <= width), default=known[0])
        above = min((one for one in known if one >= width), default=known[-1])
        share = 0.0 if above <= below else (width - below) / (above - below)
        found.append(times[below] + share * (times[above] - times[below]))
    return found


def by_binding(seconds: Sequence[float]) -> Dict[str, List[Optional[float]]]:
    """On one tile of that many cores: one thread is spread, all other widths are compact."""
    return {"spread": [seconds[0]], "compact": [None, *seconds[1:]]}


def step_graph(explanations: Sequence[Mapping[str, Any]], step_seconds: float, cores: int) -> Json:
    """One op after the other, runs of an op evenly over the step: their order is not known."""
    instances: List[Json] = []
    places: List[Tuple[float, int]] = []
    in_ops = 0.0
    for one in explanations:
        times = oracle.measured_times(one)
        own, count = int(one.get("default_width") or 0), int(one.get("per_step") or 0)
        if own not in times or count < 1:
            continue
        index, in_ops = len(instances), in_ops + count * times[own]
        instance: Json = {"op": str(one.get("name") or one["id"])}
        if one.get("shape"):
            instance["shape"] = str(one["shape"])
        if len(times) == 1:
            instance.update({"tunable": False, "default_width": min(own, cores)})
        instance["times"] = by_binding(completed(times, cores))
        instances.append(instance)
        places += [((run + 0.5) / count, index) for run in range(count)]
    if not instances:
        raise RunError("no op was measured at its default width: give the first run more time")
    left = step_seconds - in_ops
    if left > 0:
        rest = {"op": REST, "tunable": False, "default_width": 1,
                "times": by_binding([left] * cores)}
        instances.append(rest)
        places.append((1.0, len(instances) - 1))
    nodes: List[Json] = []
    for place, (_, index) in enumerate(sorted(places)):
        nodes.append({"instance": index, **({"inputs": [place - 1]} if place else {})})
    return {
        "format": "optile step graph", "version": 1, "name": "measured",
        "machine": machine_of(cores), "instances": instances, "nodes": nodes,
    }  # fmt: skip


def machine_of(cores: int) -> str:
    return f"l3:1 core:{cores} pu:1"


@dataclass(frozen=True)
class Comparison:
    way: str
    simulated: float
    measured: ratios.Ratio

    def error(self) -> float:
        return self.simulated / self.measured.value - 1

    def agrees(self) -> bool:
        inside = self.measured.low <= self.simulated <= self.measured.high
        return inside or abs(self.error()) <= GOAL

    def as_json(self) -> Json:
        measured = self.measured.as_json()
        return {"way": self.way, "simulated": self.simulated, "measured": measured,
                "error": self.error(), "agrees": self.agrees()}  # fmt: skip


def compared(simulated: Mapping[str, float], rounds: Rounds) -> List[Comparison]:
    """To the first way, which is all cores."""
    first = rounds.labels[0]
    return [
        Comparison(way, simulated[first] / simulated[way], rounds.times_as_fast(first, way))
        for way in rounds.labels[1:]
    ]


def lines(found: Sequence[Comparison], first: str) -> List[str]:
    out = [f"times as fast as {first}: simulated, measured with 95 % interval, error"]
    for one in found:
        verdict = "agrees" if one.agrees() else "does not agree"
        out.append(
            f"{one.way:12}  {one.simulated:.3f}  {one.measured}  {one.error():+.1%}  {verdict}"
        )
    return out


# --- simulating and running -------------------------------------------------------------------


def simulate(optile: pathlib.Path, graph: pathlib.Path, cores: int, strategy: str) -> float:
    command = [str(optile), "simulate", "--machine", machine_of(cores), "--graph", str(graph)]
    done = subprocess.run(
        [*command, "--strategy", strategy, "--json"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=SIMULATE_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"simulating {strategy} failed: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["step_seconds"])


def uniform_ways(provider: str, cores: int) -> List[Launch]:
    """All cores first."""
    return [
        workload_run.launch_of(setting, provider, f"{threads} threads")
        for threads in range(cores, 0, -1)
        for setting in settings.grid(provider, cores)
        if setting.name == f"{WAIT}, {threads} threads"
    ]


def simulated_seconds(optile: pathlib.Path, graph: pathlib.Path, cores: int) -> Dict[str, float]:
    """By the labels of the ways."""
    strategies = {f"{one} threads": f"uniform:1,{one}" for one in range(cores, 0, -1)}
    strategies.update({way: name for way, (_, name) in STRATEGIES.items()})
    return {way: simulate(optile, graph, cores, name) for way, name in strategies.items()}


def prepared(
    stack: contextlib.ExitStack, folder: pathlib.Path, workload: Workload,
    options: argparse.Namespace, label: str,
) -> Launch:  # fmt: skip
    """A way whose plan a first run has made and stored."""
    choice = STRATEGIES[label][0]
    words = ("--mode", "tune", "--strategy", choice)
    daemon = stack.enter_context(PrivateDaemon(folder / "build", folder, choice))
    progress(f"{label}: first run, at most {options.prepare_seconds:.0f} s")
    first = daemon.prepare(
        workload, settings.clean_environment(options.blas), words, options.prepare_seconds
    )
    if not first.settled:
        raise RunError(f"the plan of {label} did not settle: give more --prepare-seconds")
    environment = settings.clean_environment(options.blas)
    return Launch(label, environment, daemon.prefix(words), daemon.report, options.blas)


def graph_from_life(
    workload: Workload, options: argparse.Namespace, cores: int, folder: pathlib.Path
) -> Json:
    ways = {cores - index: way for index, way in enumerate(uniform_ways(options.blas, cores))}
    lengths = {
        way.label: interleaved.probe(way, workload, options.observe_seconds)
        for way in ways.values()
    }
    reports = observed_curves.observe(ways, workload, lengths, folder, options.observe_rounds)
    explained = observed_curves.explanations(reports)
    sums = {width: observed_curves.summed(explained, width) for width in reports}
    steps = {width: observed_curves.step_seconds(seen) for width, seen in reports.items()}
    over = observed_curves.beyond(sums, steps)
    for width in sorted(sums):
        progress(f"  width {width}: ops {sums[width]:.4g} s, step {steps[width]:.4g} s")
    progress(f"  a step is {over.stretch:.3f} times the sum of its ops and {over.rest:.4g} s")
    graph = observed_curves.stretched(explained, over.stretch)
    return step_graph(graph, over.stretch * sums[cores] + over.rest, cores)


def run_all(
    workload: Workload, options: argparse.Namespace, cores: int, tuned: Sequence[Launch]
) -> Rounds:
    ways = [*uniform_ways(options.blas, cores), *tuned]
    lengths = {way.label: interleaved.probe(way, workload, options.seconds) for way in ways}
    for way in tuned:
        lengths[way.label] = ablation.warm_until_replayed(way, workload, lengths[way.label])
    return interleaved.measure(ways, workload, lengths, options.rounds)


def at_least_two(text: str) -> int:
    """One run is no sample of how a machine varies."""
    number = workload_run.positive(text)
    if number < 2:
        raise argparse.ArgumentTypeError("at least 2")
    return number


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    workload_run.add_workload_arguments(parser)
    parser.add_argument("--build", type=pathlib.Path, default=ablation.ROOT / "build")
    parser.add_argument("--rounds", type=workload_run.positive, default=interleaved.DEFAULT_ROUNDS)
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="of timed steps in each run (default 3)"
    )
    parser.add_argument(
        "--prepare-seconds", type=float, default=180.0,
        help="for the first run of each strategy (default 180)",
    )  # fmt: skip
    parser.add_argument(
        "--observe-rounds", type=at_least_two, default=3,
        help="runs that are observed at each width (default 3)",
    )  # fmt: skip
    parser.add_argument(
        "--observe-seconds", type=float, default=5.0, help="of each of them (default 5)"
    )
    parser.add_argument("--graph", type=pathlib.Path, metavar="FILE", help="keep the step graph")
    parser.add_argument("--observe-only", action="store_true", help="end when it is made")
    return parser.parse_args(arguments)


def main(arguments: List[str]) -> int:
    options = parse(arguments)
    if options.blas in settings.OWN_POOL:
        raise RunError(f"{options.blas} has a pool beside OpenMP: no one setting fits both")
    machine, cores = settings.machine_description(), settings.physical_cores()
    workload = workload_run.workload_of(options)
    blas = workload_run.checked_provider(options.blas)
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="optile-life-", dir=ablation.SOCKET_FOLDER)
        folder = pathlib.Path(stack.enter_context(temporary))
        build = private_daemon.copy_build(options.build, folder / "build")
        graph = options.graph or folder / "step.json"
        workload_run.write_json(graph, graph_from_life(workload, options, cores, folder))
        if options.observe_only:
            return 0
        simulated = simulated_seconds(folder / "build" / "bin" / "optile", graph, cores)
        strategies = [prepared(stack, folder, workload, options, one) for one in STRATEGIES]
        rounds = run_all(workload, options, cores, strategies)
    found = compared(simulated, rounds)
    result = {
        "kind": "against_life", "workload": workload.name, "batch": workload.batch,
        "compiled": workload.compiled, "blas": blas,
        "machine": machine, "rounds": rounds.complete(), "simulated_seconds": simulated,
        "comparisons": [one.as_json() for one in found], "runs": rounds.as_json(),
        "build": build, "foreign_cores": rounds.foreign_cores(),
    }  # fmt: skip
    workload_run.write_json(options.json, result)
    print("\n".join(lines(found, rounds.labels[0]) + interleaved.load_note(rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("against_life", main))
