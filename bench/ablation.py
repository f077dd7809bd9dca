#!/usr/bin/python3
"""Takes a gain apart: which part of optile brings how much, against whom, on one workload.

Forms, each a fresh process, interleaved in rounds:
  r  recommendation: physical cores in the program's own runtime, nothing else set
  a  untouched
  b  + launch plan: runtime and wait policy, widths and BLAS pool left alone
  c  + BLAS pool, where the provider has one of its own
  d  + the best uniform width        (second run of it: the plan is stored)
  e  + a width for each op           (second run of it: the plan is stored)
  h  host optimum, from the file that host_optimum.py wrote
b and c run as `freeze` with an empty store: everything is in force but there is no plan to repeat.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import ablation_table
import interleaved
import oracle
import settings
import workload_run
from interleaved import Length, Rounds
from private_daemon import Preparation, PrivateDaemon, binaries, copy_build
from workload_run import Launch, RunError, Workload, progress

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOCKET_FOLDER = "/tmp"  # a socket's path has 107 bytes, and a temporary folder may be deep
FORM_OPTIONS: Mapping[str, Sequence[str]] = {
    "b": ("--mode", "freeze", "--blas", "keep"),
    "c": ("--mode", "freeze"),
    "d": ("--mode", "tune", "--strategy", "uniform"),
    "e": ("--mode", "tune", "--strategy", "auto"),
}
REPLAYED = ("d", "e")
LEAST_ROUNDS = 5
PREPARE_SHARE = 0.25  # of the time at most, for each first run
# A replay counts once the daemon has recognised the step again; the warm-up is made that long, but
# no longer than this.
MOST_REPLAY_SECONDS = 60.0
# Then it listens to this many steps before it leaves any unsampled; timed are those that follow.
LISTENING_STEPS = 16


@dataclass
class Ablation:
    """What a run of this script works on and what it found."""

    workload: Workload
    provider: str
    options: argparse.Namespace
    folder: pathlib.Path
    daemons: contextlib.ExitStack
    build: str = ""  # which one, in short; its copy lies in the folder
    machine: Dict[str, Any] = field(default_factory=settings.machine_description)
    blas: Dict[str, str] = field(default_factory=dict)
    prepared: Dict[str, Preparation] = field(default_factory=dict)
    optimum: Optional[settings.Setting] = None
    begin: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float:
        return self.options.minutes * 60 - (time.monotonic() - self.begin)


def wanted_forms(provider: str, with_optimum: bool, only: Optional[str]) -> List[str]:
    forms = [form for form in "rabcdeh" if only is None or form in only or form == "a"]
    if provider not in settings.OWN_POOL and "c" in forms:
        forms.remove("c")
        progress(f"{provider} has no pool of its own: (c) is (b)")
    if not with_optimum and "h" in forms:
        forms.remove("h")
        progress("no --optimum FILE: (h) is left out; host_optimum.py writes one")
    return forms


def read_optimum(
    path: Optional[pathlib.Path], workload: Workload, provider: str
) -> Optional[settings.Setting]:
    if path is None:
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        about = (
            found["workload"], found["batch"], found.get("compiled", False),
            found["blas"]["provider"],
        )  # fmt: skip
        optimum = found["optimum"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is no result of host_optimum.py: {error!r}") from error
    if about != (workload.name, workload.batch, workload.compiled, provider):
        raise RunError(
            f"{path} is about workload, batch, compiled and BLAS {about}: measure this one's own"
        )
    return settings.from_json(optimum)


def optile_launch(job: Ablation, form: str) -> Launch:
    """Starts the form's own daemon; the first run of a replayed form happens here."""
    daemon = job.daemons.enter_context(PrivateDaemon(job.folder / "build", job.folder, form))
    if form in REPLAYED:
        seconds = job.options.prepare_seconds or PREPARE_SHARE * job.options.minutes * 60
        progress(f"{form}: first run, until its plan is settled (at most {seconds:.0f} s)")
        done = daemon.prepare(
            job.workload, settings.clean_environment(job.provider), FORM_OPTIONS[form], seconds
        )
        job.prepared[form] = done
        state = "settled" if done.settled else "NOT settled"
        progress(f"{form}: {state} after {done.seconds:.0f} s, {done.report.get('steps')} steps")
        for text in done.report.get("fallbacks") or []:
            progress(f"{form}: careful: {text}")
    return Launch(
        label=form,
        environment=settings.clean_environment(job.provider),
        prefix=daemon.prefix(FORM_OPTIONS[form]),
        report=daemon.report,
        blas=job.provider,
    )


def launches(job: Ablation, forms: Sequence[str]) -> List[Launch]:
    hand_made = {"r": settings.recommendation(), "a": settings.untouched(), "h": job.optimum}
    found = []
    for form in forms:
        if form in FORM_OPTIONS:
            found.append(optile_launch(job, form))
            continue
        setting = hand_made[form]
        if setting is not None:
            found.append(workload_run.launch_of(setting, job.provider, form))
    return found


def warm_until_replayed(way: Launch, workload: Workload, length: Length) -> Length:
    """The length with as many untimed steps as it takes until the report says `plan_replayed`."""
    warmup = length.warmup
    while warmup * length.step_seconds <= MOST_REPLAY_SECONDS:
        run = workload_run.run(way, workload, interleaved.PROBE_STEPS, warmup)
        if run.report.get("plan_replayed"):
            progress(f"{way.label}: replayed within {warmup + interleaved.PROBE_STEPS} steps")
            return dataclasses.replace(length, warmup=warmup + LISTENING_STEPS)
        warmup *= 2
    progress(f"{way.label}: careful, its plan is not recognised as replayed in {warmup // 2} steps")
    return length


def lengths_within(job: Ablation, ways: Sequence[Launch]) -> Tuple[Dict[str, Length], int]:
    """Steps of each form's runs and the rounds that fit into the time that is left."""
    probed = {way.label: interleaved.probe(way, job.workload, job.options.seconds) for way in ways}
    for way in ways:
        if way.label in job.prepared and job.prepared[way.label].settled:
            probed[way.label] = warm_until_replayed(way, job.workload, probed[way.label])
    of_round = sum(one.seconds() for one in probed.values())
    affordable = int(job.seconds_left() / max(of_round, 1e-3))
    rounds = max(min(LEAST_ROUNDS, job.options.rounds), min(job.options.rounds, affordable))
    progress(f"{rounds} rounds of about {of_round:.0f} s")
    if rounds < job.options.rounds:
        progress(f"the time does not do for {job.options.rounds} rounds: give more --minutes")
    return probed, rounds


# --- the result -----------------------------------------------------------------------------


def replay_summary(rounds: Rounds, form: str) -> Dict[str, Any]:
    """Whether every run of a tuned form replayed its plan, without a sampled step."""
    reports = [run.report for run in rounds.runs.get(form, [])]
    own = rounds.medians(form)
    seen = [(report.get("step_seconds") or {}).get("tuned") for report in reports]
    apart = [abs(theirs / ours - 1) for theirs, ours in zip(seen, own) if theirs]
    made = [len(run.step_seconds) + int(run.program.get("warmup", 0))
            for run in rounds.runs.get(form, [])]  # fmt: skip
    counted = [int(report.get("steps") or 0) for report in reports]
    return {
        "runs": len(reports),
        "plan_replayed": sum(1 for report in reports if report.get("plan_replayed")),
        "without_sampled_steps": sum(1 for one in reports if one.get("sampled_steps") == 0),
        "steps_made": made,
        "steps_counted": counted,
        # How far the report's step is from the program's own, at most. The report's is over all
        # steps, the program's over the timed ones.
        "step_seconds_apart": max(apart) if apart else None,
    }


def last_report(rounds: Rounds, form: str) -> Mapping[str, Any]:
    runs = rounds.runs.get(form, [])
    return runs[-1].report if runs else {}


def result_of(job: Ablation, rounds: Rounds, wanted: int) -> Dict[str, Any]:
    result: Dict[str, Any] = {
        "kind": "ablation", "workload": job.workload.name, "batch": job.workload.batch,
        "compiled": job.workload.compiled,
        "blas": job.blas, "machine": job.machine, "build": job.build,
        "rounds": rounds.complete(),
        "complete": rounds.complete() >= wanted, "forms": rounds.as_json(),
        "foreign_cores": rounds.foreign_cores(),
        "optimum": job.optimum.as_json() if job.optimum else None,
        "prepared": {form: one.as_json() for form, one in job.prepared.items()},
        "replayed": {form: replay_summary(rounds, form) for form in REPLAYED
                     if form in rounds.runs},
        "oracle": None,
    }  # fmt: skip
    for form in ("e", "d"):
        report = last_report(rounds, form)
        if report:
            result["coverage"] = report.get("coverage")
            result["launch_plan"] = report.get("launch_plan")
            result["fallbacks"] = report.get("fallbacks")
            break
    if job.options.oracle and "e" in job.prepared:
        first = job.prepared["e"]
        step = (first.report.get("step_seconds") or {}).get("baseline")
        found = oracle.compute(first.explanations, step)
        result["oracle"] = found.as_json() if found else None
        result["oracle_text"] = oracle.lines(found)
    return result


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    workload_run.add_workload_arguments(parser)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--optimum", type=pathlib.Path, metavar="FILE", help="of host_optimum.py")
    parser.add_argument("--forms", metavar="LETTERS", help="only these, and (a)")
    parser.add_argument(
        "--rounds", type=workload_run.positive, default=interleaved.DEFAULT_ROUNDS,
        help="(default 15)",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="of timed steps in each run (default 3)"
    )
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="to stay within, about (default 30)"
    )
    parser.add_argument(
        "--prepare-seconds", type=float, help="for each first run (default: a quarter of the time)"
    )
    parser.add_argument(
        "--oracle", action="store_true", help="what the best width of each op would allow"
    )
    return parser.parse_args(arguments)


def measure(job: Ablation, forms: Sequence[str]) -> Dict[str, Any]:
    ways = launches(job, forms)
    lengths, wanted = lengths_within(job, ways)
    result: Dict[str, Any] = {}

    def after_round(rounds: Rounds) -> bool:
        # Written after every round, so that an interrupted run leaves what it measured.
        result.update(result_of(job, rounds, wanted))
        result.update(ablation_table.derived(rounds))
        workload_run.write_json(job.options.json, result)
        return True

    interleaved.measure(ways, job.workload, lengths, wanted, after_round)
    return result


def main(arguments: List[str]) -> int:
    options = parse(arguments)
    binaries(options.build)
    workload = workload_run.workload_of(options)
    optimum = read_optimum(options.optimum, workload, options.blas)
    blas = workload_run.checked_provider(options.blas)
    forms = wanted_forms(options.blas, optimum is not None, options.forms)
    with contextlib.ExitStack() as daemons:
        folder = daemons.enter_context(
            tempfile.TemporaryDirectory(prefix="optile-ablation-", dir=SOCKET_FOLDER)
        )
        job = Ablation(workload, options.blas, options, pathlib.Path(folder), daemons)
        job.blas, job.optimum = blas, optimum
        job.build = copy_build(options.build, job.folder / "build")
        result = measure(job, forms)
    print("\n".join(ablation_table.lines(result)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("ablation", main))
