#!/usr/bin/python3
"""How long programs wait at their first region when very many start at the same moment.

    bench/arrivals.py --count 1000 --rounds 5 --json arrivals.json

Every process waits behind the same pipe, so that all open their first region together. Three forms
take turns: bare, with the shim and no daemon, and with a daemon. One more program is attached
before the others come; what happens to its regions is told too. On few processors most of what a
process waits is the other processes: compare the forms.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional, Sequence

import settings
from private_daemon import PrivateDaemon
from workload_run import RunError, progress

FORMS = ("bare", "shim alone", "daemon")
SETTLE_SECONDS = 2.0  # until so many processes have come as far as their pipe
PATIENCE = 120.0


def at(values: Sequence[float], share: float) -> Optional[float]:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


class Crowd:
    """Processes that wait for the end of one pipe, and write a line each into one file."""

    def __init__(self, newcomer: pathlib.Path, seconds: float, env: Dict[str, str]) -> None:
        self._command = [str(newcomer), str(seconds)]
        self._env = env
        self._output = tempfile.TemporaryFile("a+")
        self._gate, self._release = os.pipe()
        self._processes: List["subprocess.Popen[bytes]"] = []

    def start(self, count: int) -> None:
        for _ in range(count):
            self._processes.append(
                subprocess.Popen(self._command, stdin=self._gate, stdout=self._output,
                                 env=self._env)
            )  # fmt: skip

    def let_go(self) -> None:
        os.close(self._release)
        os.close(self._gate)

    def lines(self) -> List[List[int]]:
        for process in self._processes:
            process.wait(PATIENCE)
        self._output.seek(0)
        return [[int(word) for word in line.split()] for line in self._output]

    def end(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self._output.close()


def environment(form: str, build: pathlib.Path, daemon: Optional[PrivateDaemon],
                folder: pathlib.Path) -> Dict[str, str]:  # fmt: skip
    env = dict(os.environ)
    for name in list(env):
        if name.startswith(settings.STEERING):
            del env[name]
    env["OMP_NUM_THREADS"] = "1"
    if form == "bare":
        return env
    env["LD_PRELOAD"] = str(build / "lib" / "liboptile_preload.so")
    env["OPTILE_SOCKET"] = str(daemon.socket if daemon else folder / "nobody.sock")
    return env


def summary(lines: List[List[int]], count: int) -> Dict[str, Any]:
    first = [line[0] / 1000 for line in lines]
    attached = [line[2] / 1000 for line in lines if line[2] >= 0]
    return {
        "processes": len(lines),
        "lost": count - len(lines),
        "first_ms": {"median": at(first, 0.5), "p99": at(first, 0.99), "most": at(first, 1)},
        "over_50_ms": sum(one > 50 for one in first),
        "attached": len(attached),
        "attached_ms": {"median": at(attached, 0.5), "most": at(attached, 1)},
    }


def run_form(form: str, options: argparse.Namespace, folder: pathlib.Path) -> Dict[str, Any]:
    newcomer = options.build / "bin" / "newcomer"
    daemon = PrivateDaemon(options.build, folder, f"arrivals-{time.monotonic_ns()}")
    if form == "daemon":
        daemon.start()
    env = environment(form, options.build, daemon if form == "daemon" else None, folder)
    # To open the counters is its own doing, in one of its regions.
    undisturbed = {**env, "OPTILE_COUNTERS": "off"}
    there = Crowd(newcomer, options.seconds + SETTLE_SECONDS, undisturbed)
    crowd = Crowd(newcomer, options.seconds, env)
    try:
        there.start(1)
        there.let_go()
        crowd.start(options.count)
        time.sleep(SETTLE_SECONDS)
        crowd.let_go()
        result = summary(crowd.lines(), options.count)
        result["who_was_there_longest_ms"] = max(line[1] for line in there.lines()) / 1000
        return result
    finally:
        crowd.end()
        there.end()
        daemon.stop()


def allow_descriptors() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def spread(rounds: List[Dict[str, Any]], *path: str) -> str:
    values = []
    for one in rounds:
        value: Any = one
        for name in path:
            value = value[name]
        if value is not None:
            values.append(float(value))
    if not values:
        return "-"
    return f"{at(values, 0.5):.1f} [{min(values):.1f}, {max(values):.1f}]"


def table(results: Dict[str, List[Dict[str, Any]]]) -> str:
    rows = ["| form | first region, median | p99 | longest | over 50 ms | attached | all within "
            "| longest of who was there |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for form, rounds in results.items():
        cells = [spread(rounds, "first_ms", "median"), spread(rounds, "first_ms", "p99"),
                 spread(rounds, "first_ms", "most"), spread(rounds, "over_50_ms"),
                 spread(rounds, "attached"), spread(rounds, "attached_ms", "most"),
                 spread(rounds, "who_was_there_longest_ms")]  # fmt: skip
        rows.append(f"| {form} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--count", type=int, default=1000, help="processes at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="that each process lives")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.build = options.build.resolve()
    allow_descriptors()
    results: Dict[str, List[Dict[str, Any]]] = {form: [] for form in FORMS}
    try:
        with tempfile.TemporaryDirectory(prefix="optile-arrivals-") as folder:
            for number in range(options.rounds):
                for form in FORMS[number % 3:] + FORMS[:number % 3]:
                    progress(f"round {number + 1}, {form}")
                    results[form].append(run_form(form, options, pathlib.Path(folder)))
    except (RunError, OSError) as error:
        print(f"arrivals.py: {error}", file=sys.stderr)
        return 1
    print(f"{options.count} processes on {os.cpu_count()} processors, Linux {platform.release()}, "
          f"{options.rounds} rounds; milliseconds, median of rounds [least, most]\n")  # fmt: skip
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
