#!/usr/bin/python3
"""Ends, stops and restarts things under leases, many times, and counts what went wrong.

    bench/leases/repeats.py --build build --repeats 50

Each repeat runs two programs of OpenMP regions under a daemon of its own and looks at the masks of
all their threads: one is stopped and goes on, the daemon is killed and started again, one program
is killed. After each the leases have to have no core in common and to leave none out, and the masks
have to be the leases'. How long that took is told and gates nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Set

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "bench"), str(SOURCE / "tests" / "e2e")]

import settings  # noqa: E402
import workload_run  # noqa: E402
from private_daemon import PrivateDaemon, copy_build  # noqa: E402
from support.thread_masks import masks  # noqa: E402
from workload_run import RunError, progress  # noqa: E402

PATIENCE = 20.0
LOOK = 0.002


class Scene:
    def __init__(self, daemon: PrivateDaemon, program: pathlib.Path) -> None:
        self.daemon = daemon
        self.program = program
        self.whole = os.sched_getaffinity(0)
        self.times: Dict[str, List[float]] = {}
        self.faults: List[str] = []

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*self.daemon.prefix(["--patience", "5000"], report=False), str(self.program)],
            env=settings.clean_environment("reference"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def leases(self) -> Dict[int, Set[int]]:
        return {one["pid"]: set(one["units"]) for one in self.daemon.get("/v1/leases")["clients"]}

    def held(self, *pids: int) -> bool:
        """Exactly these have leases, which have nothing in common and leave no core out, and all
        their threads are within them."""
        try:
            leases = self.leases()
        except (OSError, RunError, KeyError):
            return False
        if set(leases) != set(pids):
            return False
        parts = list(leases.values())
        if sum(map(len, parts)) != len(self.whole) or set().union(*parts) != self.whole:
            return False
        return all(mask == leases[pid] for pid in pids for mask in masks(pid).values())

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        begin = time.monotonic()
        while not holds():
            if time.monotonic() - begin > PATIENCE:
                leases = self.daemon.get("/v1/leases")
                self.faults.append(f"{what}: never in {PATIENCE:g} s; {json.dumps(leases)[:600]}")
                return
            time.sleep(LOOK)
        self.times.setdefault(what, []).append(time.monotonic() - begin)

    def stopped(self, one: int, other: int) -> None:
        os.kill(one, signal.SIGSTOP)
        self.until("a stopped one's cores are lent",
                   lambda: all(mask == self.whole for mask in masks(other).values()))  # fmt: skip
        os.kill(one, signal.SIGCONT)
        self.until("they are back", lambda: self.held(one, other))

    def daemon_killed(self, one: int, other: int) -> None:
        before = {pid: masks(pid).values() for pid in (one, other)}
        self.daemon.kill()
        after = {pid: masks(pid).values() for pid in (one, other)}
        if [set(map(frozenset, before[pid])) for pid in before] != [
            set(map(frozenset, after[pid])) for pid in after
        ]:
            self.faults.append("masks changed when the daemon was killed")
        self.daemon.start()
        self.until("leases after a new daemon", lambda: self.held(one, other))

    def repeat(self) -> None:
        one = self.start()
        self.until("one is alone", lambda: self.held(one.pid))
        other = self.start()
        try:
            self.until("two are apart", lambda: self.held(one.pid, other.pid))
            # The first one's teams are as wide as the machine: it can use what is lent.
            self.stopped(other.pid, one.pid)
            self.daemon_killed(one.pid, other.pid)
            one.kill()
            self.until("a killed one's cores are the other's", lambda: self.held(other.pid))
            if other.poll() is not None:
                self.faults.append(f"the other one ended with {other.returncode}")
        finally:
            for process in (one, other):
                workload_run.end_process(process)
        self.until("nobody is left", lambda: not self.leases())


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--repeats", type=workload_run.positive, default=50)
    options = parser.parse_args(arguments)
    program = options.build.resolve() / "tests" / "programs" / "sweeps"
    if not program.exists():
        raise RunError(f"{program} is missing: build all targets first")
    # What others keep busy changes leases, too; what is looked at here is who has which.
    os.environ["OPTILE_EXTERNAL_LOAD"] = "ignore"
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        copy = pathlib.Path(folder, "build")
        copy_build(options.build, copy)
        with PrivateDaemon(copy, pathlib.Path(folder), "repeats") as daemon:
            scene = Scene(daemon, program)
            for number in range(options.repeats):
                scene.repeat()
                if number % 10 == 9:
                    progress(f"{number + 1} repeats, {len(scene.faults)} faults")
    print(f"{options.repeats} repeats, {len(scene.faults)} faults")
    for fault in scene.faults:
        print(f"  {fault}")
    for what, times in scene.times.items():
        middle, longest = statistics.median(times) * 1e3, max(times) * 1e3
        print(f"{what:40} {len(times):4} times, median {middle:7.1f} ms, longest {longest:7.1f} ms")
    return 1 if scene.faults else 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("repeats", main))
