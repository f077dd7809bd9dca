#!/usr/bin/env python3
"""Trains the paper's networks in TensorFlow on a machine that is only described: untouched with
uniform settings, and under optile. Prints seconds of that machine for a step, beside what the
simulator predicts for the same step and what the paper measured.

Needs a finished build, and a Python with TensorFlow. README.md has how it works.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import paper_figures  # noqa: E402
import ratios  # noqa: E402
import table  # noqa: E402
import workload_run  # noqa: E402
from private_daemon import PrivateDaemon  # noqa: E402
from workload_run import RunError, progress  # noqa: E402

# So many seconds here are one of the machine, for computing to be small beside what is played.
SCALES = {"lstm": 100.0, "dcgan": 5.0, "resnet50": 5.0, "inception_v3": 1.0}
GRID = ((1, 34), (1, 68), (2, 34), (2, 68), (4, 16), (4, 34))
WARM_STEPS = 2
REALTIME_PRIORITY = 5
SIDE_BY_SIDE = 16  # inter-op threads, where what runs side by side is chosen


@dataclass(frozen=True)
class Form:
    """A way to run under optile."""

    options: Tuple[str, ...]  # of the launcher
    strategy: str  # as the simulator calls it
    inter: int = 1


FORMS = {
    "strategy 1": Form(("--strategy", "1"), "s1"),
    "strategies 1 and 2": Form(("--strategy", "2"), "s12"),
    "strategy 3": Form(("--strategy", "3"), "s123", SIDE_BY_SIDE),
    "strategies 3 and 4": Form(("--strategy", "4"), "s1234", SIDE_BY_SIDE),
    "look-ahead": Form(("--strategy", "look-ahead"), "auto", SIDE_BY_SIDE),
    "auto": Form((), "auto", SIDE_BY_SIDE),
}
SAME_STEPS = 2  # of which losses are compared: later ones drift apart from other last bits
SAME_LOSS = 1e-3
STEP = re.compile(r"^step (\d+) seconds (\S+) loss (\S+)$")
LOOK_SECONDS = 0.5
END_SECONDS = 60.0


@dataclass
class Measured:
    name: str
    seconds: List[float]  # of the machine, for each timed step
    losses: List[float] = field(default_factory=list)  # from the first step on
    predicted: Optional[float] = None
    paper: Optional[float] = None  # gain over the recommendation
    corunning: Optional[float] = None
    notes: str = ""

    def median(self) -> float:
        return statistics.median(self.seconds)


def paper_gain(network: str, strategy: str) -> Optional[float]:
    """Over the recommendation; the paper has each stage over the one before."""
    stages = paper_figures.STAGES[network]
    names = ("s12", "s123", "s1234")
    if strategy not in names:
        return None
    return math.prod(stages[name] for name in names[: names.index(strategy) + 1])


def gain(of: Measured, over: Measured) -> ratios.Ratio:
    def ratio(groups: Sequence[Sequence[float]]) -> float:
        return statistics.median(groups[0]) / statistics.median(groups[1])

    groups = (over.seconds, of.seconds)
    low, high = ratios.interval(groups, ratio)
    return ratios.Ratio(ratio(groups), low, high, len(of.seconds))


class Play:
    """One network on one machine."""

    def __init__(self, network: str, options: argparse.Namespace, folder: pathlib.Path) -> None:
        self.network = network
        self.machine: str = options.machine
        self.steps: int = options.steps
        self.scale: float = options.scale or SCALES[network]
        self._options = options
        self._folder = folder
        self._library = options.build.resolve() / "lib" / "libplayed_kernels.so"
        self._times = folder / f"{network}.times"
        self._graph = folder / f"{network}.graph.json"
        self._summary = folder / "summary.json"

    def make_table(self) -> None:
        table.record(self._options.python, self._library, self.network, self._folder)
        tool = self._options.build.resolve() / "bin" / "played_times"
        table.write_table(tool, self.network, self.machine, self._folder)

    def predict(self, strategy: str) -> Dict[str, Any]:
        command = [str(self._options.build.resolve() / "bin" / "optile"), "simulate", "--json",
                   "--machine", self.machine, "--graph", str(self._graph),
                   "--strategy", strategy]  # fmt: skip
        answer: Dict[str, Any] = json.loads(subprocess.check_output(command))
        return answer

    def _environment(self) -> Dict[str, str]:
        return dict(
            os.environ, LD_PRELOAD=str(self._library), OPTILE_PLAYED_TIMES=str(self._times),
            OPTILE_PLAYED_SCALE=str(self.scale), OPTILE_PLAYED_SUMMARY=str(self._summary),
        )  # fmt: skip

    def _program(self, inter: int, intra: int, steps: int) -> List[str]:
        realtime = ["chrt", "-f", str(REALTIME_PRIORITY)] if self._options.realtime else []
        return [*realtime, self._options.python, str(HERE / "models.py"), self.network,
                "--steps", str(steps), "--inter", str(inter), "--intra", str(intra)]  # fmt: skip

    def _measured(self, name: str, output: str, first: int) -> Measured:
        found = [match.groups() for match in map(STEP.match, output.splitlines()) if match]
        timed = [float(one) / self.scale for number, one, _ in found if int(number) >= first]
        if not timed:
            raise RunError(f"{self.network}, {name}: no step was timed:\n{output[-2000:]}")
        measured = Measured(name, timed, [float(loss) for _, _, loss in found])
        summary = json.loads(self._summary.read_text(encoding="utf-8"))
        measured.corunning = summary["corunning_mean"]
        played = summary["thread_seconds"]
        late = (summary["late_seconds"] + summary["overrun_seconds"]) / max(played, 1e-9)
        measured.notes = f"{100 * late:.1f} % late"
        return measured

    def uniform(self, inter: int, intra: int) -> Measured:
        name = f"{inter}, {intra}"
        self._summary.unlink(missing_ok=True)
        output = subprocess.run(
            self._program(inter, intra, WARM_STEPS + self.steps), env=self._environment(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        measured = self._measured(name, output.stdout + output.stderr, WARM_STEPS)
        measured.predicted = self.predict(f"uniform:{inter},{intra}")["step_seconds"]
        paper = paper_figures.TABLE_I.get(self.network, {})
        if f"{inter},{intra}" in paper:
            measured.paper = paper["1,68"] / paper[f"{inter},{intra}"]
        return measured

    def under_optile(self, name: str, intra: int) -> Measured:
        """Until its plan is in force, and then the steps that are timed."""
        form = FORMS[name]
        strategy = form.strategy
        self._summary.unlink(missing_ok=True)
        output = self._folder / "output.txt"
        daemon = PrivateDaemon(
            self._options.build, self._folder, f"{self.network}.{strategy}",
            ("--machine", self.machine),
        )  # fmt: skip
        with daemon, open(output, "w", encoding="utf-8") as stream:
            steps = self._options.most_steps
            command = [*daemon.prefix(form.options), *self._program(form.inter, intra, steps)]
            process = subprocess.Popen(
                command, env=self._environment(), stdout=stream, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            try:
                first = self._wait_until_timed(daemon, process, output)
            finally:
                # It writes its summary behind the step that runs, which is a long one here.
                workload_run.end_process(process, END_SECONDS)
        measured = self._measured(name, output.read_text(encoding="utf-8"), first)
        measured.predicted = self.predict(strategy)["step_seconds"]
        measured.paper = paper_gain(self.network, strategy)
        measured.notes += f", in force from step {first}"
        return measured

    def _wait_until_timed(
        self, daemon: PrivateDaemon, process: "subprocess.Popen[bytes]", output: pathlib.Path
    ) -> int:
        """Until so many steps ran under the plan; the answer is the first of them."""
        first: Optional[int] = None
        phase = ""
        while process.poll() is None:
            time.sleep(LOOK_SECONDS)
            made = sum(1 for line in output.read_text(encoding="utf-8").splitlines()
                       if STEP.match(line))  # fmt: skip
            clients = [one for one in daemon.get("/v1/clients").get("clients", [])
                       if one.get("state") == "running"]  # fmt: skip
            if clients and clients[0]["phase"] != phase:
                phase = clients[0]["phase"]
                progress(f"  {phase} at step {made}")
                first = made + 1 if phase == "tuned" else None
            if first is not None and made >= first + self.steps:
                return first
        raise RunError(f"{self.network} ended in phase {phase}: more --most-steps are needed")


def check_losses(all_of: Sequence[Measured]) -> float:
    """The largest difference between losses of the same step, relative; too large is an error."""
    worst = 0.0
    for one in all_of[1:]:
        for ours, theirs in list(zip(one.losses, all_of[0].losses))[:SAME_STEPS]:
            worst = max(worst, abs(ours - theirs) / max(abs(theirs), 1e-9))
    if worst > SAME_LOSS:
        raise RunError(f"losses differ by {worst:.2g}: the played program computes other things")
    return worst


def rows(found: Sequence[Measured], recommendation: Measured, predicted: float) -> List[str]:
    lines = []
    for one in found:
        simulated = one.predicted or 0.0
        paper = "" if one.paper is None else f"{one.paper:.2f}"
        lines.append(
            f"| {one.name} | {1e3 * one.median():.4g} | {1e3 * simulated:.4g} "
            f"| {100 * (one.median() / simulated - 1):+.1f} % | {gain(one, recommendation)} "
            f"| {predicted / simulated:.2f} | {paper} | {one.corunning:.2f} | {len(one.seconds)} |"
        )
    return lines


HEADER = (
    "| inter, intra, or under optile | ms a step | simulated | error | over the recommendation, "
    "95 % interval | simulated | paper | ops side by side | steps |",
    "|---|---|---|---|---|---|---|---|---|",
)


def play(network: str, options: argparse.Namespace, folder: pathlib.Path) -> List[str]:
    one = Play(network, options, folder)
    progress(f"{network}: its kernels")
    one.make_table()
    found: List[Measured] = []
    for inter, intra in options.settings:
        found.append(one.uniform(inter, intra))
        progress(f"{network}: {found[-1].name}: {found[-1].median():.4g} s, {found[-1].notes}")
    cores = (1, 68) if options.machine == "knl" else options.settings[0]
    recommendation = next(m for m in found if m.name == f"{cores[0]}, {cores[1]}")
    best = min(found, key=lambda m: m.median())
    for form in options.forms:
        found.append(one.under_optile(form, cores[1]))
        progress(f"{network}: {form}: {found[-1].median():.4g} s, {found[-1].notes}")
    worst = check_losses(found)
    return [
        f"## {network}", "", *HEADER, *rows(found, recommendation, recommendation.predicted or 0),
        "", f"Best uniform setting of these: {best.name}. Losses agree within {worst:.1g}; "
        f"{one.scale:g} seconds here are one of the machine.", "",
    ]  # fmt: skip


def setting(text: str) -> Tuple[int, int]:
    inter, _, intra = text.partition(",")
    return int(inter), int(intra)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help=f"of {', '.join(table.BATCHES)}; all")
    parser.add_argument("--python", default=sys.executable, help="one with TensorFlow")
    parser.add_argument("--machine", default="knl")
    parser.add_argument("--settings", type=setting, nargs="*", default=list(GRID),
                        metavar="INTER,INTRA", help="uniform ones; the recommendation among them")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS),
                        help="under optile")
    parser.add_argument("--steps", type=workload_run.positive, default=5, help="timed of each")
    parser.add_argument("--most-steps", type=workload_run.positive, default=400,
                        help="that a plan may take to be in force")
    parser.add_argument("--scale", type=float, help="seconds here for one of the machine")
    parser.add_argument("--realtime", action="store_true",
                        help="who wakes runs at once, whatever else runs; wants the right to")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="optile-played-") as folder:
        for network in options.networks or table.BATCHES:
            print("\n".join(play(network, options, pathlib.Path(folder))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("played/run.py", main))
