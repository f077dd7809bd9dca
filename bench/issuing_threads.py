#!/usr/bin/python3
"""Times a program whose threads issue ops at the same time: as recommended, with the cores divided
by hand, and under optile, interleaved.

    issuing_threads.py --threads 2 --threads 4 --kind convolution --rounds 8
    issuing_threads.py --variable OMP_WAIT_POLICY=passive --options '--launch keep'

The second form leaves the launch plan out of it: what remains is the sharing.

Every round runs each form once, in fresh processes, in an order that rotates. A ratio is taken
inside each round: passes under optile over those of another form, in a second and in a second of
processor time. The results of all runs have to be the same to six digits.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import shlex
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Sequence, Tuple

import ratios
import settings
from private_daemon import PrivateDaemon
from workload_run import RunError, progress

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKLOAD = pathlib.Path(__file__).resolve().parent / "workloads" / "serving.py"
PYTHON = "/usr/bin/python3"
FORMS = ("recommended", "divided by hand", "optile")
PATIENCE = 120.0

Runs = Dict[str, List[Dict[str, Any]]]


def run_once(command: Sequence[str], environment: Dict[str, str]) -> Dict[str, Any]:
    finished = subprocess.run(
        list(command), env=environment, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    if finished.returncode != 0:
        raise RunError(f"status {finished.returncode} of {' '.join(command)}: {finished.stderr}")
    answer = json.loads(finished.stdout)
    if not isinstance(answer, dict):
        raise RunError(f"no figures from {' '.join(command)}")
    return answer


class Forms:
    """The ways to start one kind of program with so many threads."""

    def __init__(self, daemon: PrivateDaemon, options: argparse.Namespace) -> None:
        self._daemon = daemon
        self._options = options
        self._cores = settings.usable_cores()

    def run(self, form: str, kind: str, threads: int) -> Dict[str, Any]:
        environment = settings.clean_environment(self._options.blas)
        each = max(1, self._cores // threads) if form == "divided by hand" else self._cores
        environment["OMP_NUM_THREADS"] = str(each)
        for word in self._options.variable:
            name, _, text = word.partition("=")
            environment[name] = text
        command = [PYTHON, str(WORKLOAD), kind, "--threads", str(threads),
                   "--seconds", str(self._options.seconds)]  # fmt: skip
        if form != "optile":
            return run_once(command, environment)
        words = shlex.split(self._options.options)
        answer = run_once([*self._daemon.prefix(words), *command], environment)
        report = json.loads(self._daemon.report.read_text(encoding="utf-8"))
        return {**answer, "sharing": report.get("sharing"), "decision": report.get("decision")}


def rounds_of(forms: Forms, kind: str, threads: int, rounds: int) -> Runs:
    runs: Runs = {form: [] for form in FORMS}
    for one in range(rounds):
        for form in (*FORMS[one % len(FORMS) :], *FORMS[: one % len(FORMS)]):
            runs[form].append(forms.run(form, kind, threads))
        latest = {form: round(runs[form][-1]["passes_per_second"], 1) for form in FORMS}
        progress(f"  {kind}, {threads} threads, round {one + 1}: {latest}")
    sums = {run["sum"] for each in runs.values() for run in each}
    if max(sums) - min(sums) > 1e-6 * max(1.0, math.fabs(max(sums))):
        raise RunError(f"the results differ: {sorted(sums)}")
    return runs


def compared(runs: Runs, figure: str) -> Dict[str, ratios.Ratio]:
    seconds = {form: [1 / run[figure] for run in each] for form, each in runs.items()}
    return {form: ratios.times_as_fast(seconds[form], seconds["optile"]) for form in FORMS[:2]}


def outcome(kind: str, threads: int, runs: Runs) -> Tuple[str, Dict[str, Any]]:
    row = f"{kind}, {threads} threads, passes under optile"
    result: Dict[str, Any] = {"kind": kind, "threads": threads, "runs": runs}
    for figure in ("passes_per_second", "passes_per_cpu_second"):
        ratio = compared(runs, figure)
        row += f"\n  {figure[7:].replace('_', ' '):16}"
        row += ", ".join(f" {one} times {form}" for form, one in ratio.items())
        result[figure] = {form: one.as_json() for form, one in ratio.items()}
    return row, result


def measure(options: argparse.Namespace) -> Tuple[List[str], List[Dict[str, Any]]]:
    rows, results = [], []
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        with PrivateDaemon(options.build, pathlib.Path(folder), "issuing") as daemon:
            forms = Forms(daemon, options)
            for kind in options.kind:
                for threads in options.threads:
                    runs = rounds_of(forms, kind, threads, options.rounds)
                    row, result = outcome(kind, threads, runs)
                    rows.append(row)
                    results.append(result)
                    progress(rows[-1])
    return rows, results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--kind", action="append", choices=["convolution", "matmul"])
    parser.add_argument("--threads", action="append", type=int)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4.0, help="timed, of each run")
    parser.add_argument("--blas", default="openblas-openmp")
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE",
                        help="for every form")  # fmt: skip
    parser.add_argument("--options", default="", help="words for optile run")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.kind = options.kind or ["convolution", "matmul"]
    options.threads = options.threads or [2, 4]
    try:
        rows, results = measure(options)
    except (RunError, settings.SettingError, subprocess.TimeoutExpired) as error:
        print(f"issuing_threads: {error}", file=sys.stderr)
        return 1
    print("\n".join(rows))
    if options.json:
        machine = {"cores": settings.usable_cores(), "blas": options.blas}
        text = json.dumps({"machine": machine, "results": results}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
