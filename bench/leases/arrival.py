#!/usr/bin/python3
"""How long until the cores rest again after one more program has come.

    bench/leases/arrival.py lstm dcgan lstm --blas openblas-pthread

All but the last program run until their leases rest; then the last one is started. Told: the
leases before and afterwards, and after how many of the newcomer's steps everybody has as many cores
as in the end. `--fresh`: the newcomer's program is unknown; else all were run together once before.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import settings  # noqa: E402
import workload_run  # noqa: E402
from private_daemon import PrivateDaemon, copy_build  # noqa: E402
from workload_run import RunError, Workload, progress  # noqa: E402

LOOK = 0.05
ATTACH_PATIENCE = 120.0
ENDLESS = 10000000  # steps
Cores = Tuple[Tuple[int, int], ...]  # pid and cores, of all that have a lease


@dataclass
class Look:
    at: float
    cores: Cores
    steps: int  # of the newcomer


class Scene:
    def __init__(self, daemon: PrivateDaemon, blas: str, folder: pathlib.Path) -> None:
        self.daemon = daemon
        self.environment = settings.clean_environment(blas)
        self.folder = folder
        self.running: List["subprocess.Popen[bytes]"] = []

    def start(self, workload: Workload) -> int:
        report = self.folder / f"{len(self.running)}.json"
        process = subprocess.Popen(
            [*self.daemon.prefix([], report=False), *workload.command(ENDLESS, 0, report)],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.running.append(process)
        end = time.monotonic() + ATTACH_PATIENCE
        while process.pid not in dict(self.cores()):
            if process.poll() is not None or time.monotonic() > end:
                raise RunError(f"{workload.name} has no lease after {ATTACH_PATIENCE:g} s")
            time.sleep(LOOK)
        return process.pid

    def end(self) -> None:
        for process in self.running:
            workload_run.end_process(process)
        self.running.clear()

    def cores(self) -> Cores:
        clients = self.daemon.get("/v1/leases")["clients"]
        return tuple(sorted((one["pid"], len(one["cores"])) for one in clients))

    def watch(self, newcomer: Optional[int], seconds: float) -> List[Look]:
        looks = []
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            steps = 0
            if newcomer is not None:
                clients = self.daemon.get("/v1/clients")["clients"]
                steps = max((one["steps"] for one in clients if one["pid"] == newcomer), default=0)
            looks.append(Look(time.monotonic() - begin, self.cores(), steps))
            time.sleep(LOOK)
        return looks


def resting(looks: List[Look]) -> Cores:
    """What was in force most of the last third of the time."""
    late = [one.cores for one in looks[len(looks) * 2 // 3 :]]
    return Counter(late).most_common(1)[0][0]


def rests_from(looks: List[Look]) -> Look:
    """The first look from which on every look until one second later shows what rests in the end.
    That a core is lent for a moment is no change."""
    rest = resting(looks)
    for number, look in enumerate(looks):
        after = [one for one in looks[number:] if one.at <= look.at + 1.0]
        if all(one.cores == rest for one in after):
            return look
    raise RunError("nothing rests: --watch longer")


def text_of(cores: Cores, names: Dict[int, str]) -> str:
    return ", ".join(f"{names[pid]} {count}" for pid, count in cores)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    workload_run.add_programs_argument(parser)
    parser.add_argument("--blas", required=True)
    parser.add_argument("--prepare", type=float, default=60.0, help="seconds of a first run")
    parser.add_argument("--settle", type=float, default=20.0, help="before the newcomer comes")
    parser.add_argument("--watch", type=float, default=30.0, help="seconds after it has attached")
    parser.add_argument("--rounds", type=workload_run.positive, default=3)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    options = parser.parse_args(arguments)
    if len(options.workloads) < 2:
        raise RunError("two programs at least: the last one comes to the others")
    workload_run.checked_provider(options.blas)
    workloads = [workload_run.workload_in(options.build, *one) for one in options.workloads]
    found: List[Look] = []
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as name:
        folder = pathlib.Path(name)
        copy_build(options.build, folder / "build")
        for number in range(options.rounds):
            with PrivateDaemon(folder / "build", folder, f"arrival{number}") as daemon:
                scene = Scene(daemon, options.blas, folder)
                known = workloads[:-1] if options.fresh else workloads
                try:
                    for workload in known:
                        scene.start(workload)
                    scene.watch(None, options.prepare)
                    scene.end()
                    names = {scene.start(one): one.name for one in workloads[:-1]}
                    before = resting(scene.watch(None, options.settle))
                    newcomer = scene.start(workloads[-1])
                    names[newcomer] = f"newcomer {workloads[-1].name}"
                    looks = scene.watch(newcomer, options.watch)
                finally:
                    scene.end()
            found.append(rests_from(looks))
            progress(
                f"round {number + 1}/{options.rounds}: {text_of(before, names)}; then "
                f"{text_of(resting(looks), names)} from {found[-1].at:.2f} s, "
                f"step {found[-1].steps} of the newcomer"
            )
    steps = [look.steps for look in found]
    print(f"cores rest after {statistics.median(steps):g} steps of the newcomer (most: "
          f"{max(steps)}), {statistics.median(look.at for look in found):.2f} s")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("arrival", main))
