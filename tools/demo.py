#!/usr/bin/python3
"""The main job on a real training program, for ./dev demo.

Trains the same program three times: untouched (`optile baseline`), under optile for the first time
(it tries widths and settles), and once more (it starts tuned). Then prints one table. Runs with a
daemon and a store of its own, so that it changes nothing of yours and starts from nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Dict, List

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import blas_provider  # noqa: E402
import demo_table  # noqa: E402

PROVIDER = "openblas-pthread"
WORKLOADS = {
    "lstm": "two-layer LSTM language model, batch 20",
    "digits": "small convolutional network on scikit-learn's digits, batch 64",
    "dcgan": "DCGAN, 28x28, batch 64",
}
# Every run has the same number of steps: as many as the untouched program, which is usually the
# slowest, does in this time; enough for the search to settle, few enough for somebody who watches.
RUN_SECONDS = 60.0
FEWEST_STEPS = 100
MOST_STEPS = 400
TRIAL_STEPS = 8
# What would make a run something else than untouched.
STEERING = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OPTILE_", "LD_PRELOAD")


class DemoError(Exception):
    """The demo cannot go on; the message says what to do."""


@dataclass
class Demo:
    """The three runs and where they leave their reports."""

    build: pathlib.Path
    results: pathlib.Path
    private: pathlib.Path  # socket and store; short, because a socket's path has 107 bytes
    env: Dict[str, str]
    workload: str
    steps: int = 0  # 0: as RUN_SECONDS allows

    @property
    def socket(self) -> pathlib.Path:
        return self.private / "optiled.sock"

    @property
    def script(self) -> str:
        return str(ROOT / "bench" / "workloads" / f"{self.workload}.py")

    def choose_steps(self) -> None:
        """A few steps of the untouched program say how many fit into the demo's time."""
        own = self.results / "trial.json"
        command = [
            blas_provider.PYTHON, self.script, "--quiet", "--steps", str(TRIAL_STEPS),
            "--json", str(own),
        ]  # fmt: skip
        print(f"-- {TRIAL_STEPS} steps to see how long one takes", flush=True)
        if subprocess.run(command, env=self.env, check=False).returncode != 0:
            raise DemoError("the training program does not run by itself: see its output above")
        steps = int(RUN_SECONDS / load(own)["median_seconds"])
        self.steps = max(FEWEST_STEPS, min(MOST_STEPS, steps))

    def train(self, verb: str, label: str, settled_half: bool = False) -> demo_table.Run:
        """`optile VERB … -- python3 WORKLOAD`, with its progress on the terminal."""
        report = self.results / f"{label.replace(' ', '-').replace(',', '')}.json"
        # Every run has the same command line: that is what makes it the same program to optile.
        own = self.results / "program.json"
        own.unlink(missing_ok=True)
        command = [
            str(self.build / "bin" / "optile"), verb, "--socket", str(self.socket),
            "--store", str(self.private / "store.db"), "--report", str(report), "--",
            blas_provider.PYTHON, self.script, "--steps", str(self.steps), "--json", str(own),
        ]  # fmt: skip
        print(f"\n-- {label}\n   {' '.join(command)}", flush=True)
        begin = time.monotonic()
        done = subprocess.run(command, env=self.env, check=False)
        if done.returncode != 0 or not own.exists():
            raise DemoError(f"this run ended with status {done.returncode}: see its output above")
        print(f"   {time.monotonic() - begin:.0f} s in all", flush=True)
        kept = own.rename(report.with_suffix(".program.json"))
        return demo_table.Run(label, load(kept), load(report), settled_half)

    def stop_daemon(self) -> None:
        """The daemon that the launcher started for us is ours alone: end it."""
        command = [str(self.build / "bin" / "optile"), "stop", "--socket", str(self.socket)]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def load(path: pathlib.Path) -> Dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DemoError(f"no report: {error}") from error


def untouched_environment() -> Dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    return blas_provider.environment(PROVIDER, env)


def title(demo: Demo, first: demo_table.Run) -> Dict[str, str]:
    return {
        "Program": WORKLOADS[demo.workload] + f", {demo.steps} steps (PyTorch "
        f"{first.program.get('torch_version', '?')})",
        "Machine": f"{len(os.sched_getaffinity(0))} cores for us, {platform.machine()}",
        "BLAS": f"{first.program.get('blas')} ({first.program.get('blas_path')})",
        "Untouched": f"{first.program.get('torch_threads')} threads, "
        f"OpenMP {first.program.get('openmp_runtime')}",
    }


def run_demo(demo: Demo) -> None:
    actual = blas_provider.loaded(demo.env)
    blas_provider.require(PROVIDER, actual.provider)
    print(f"BLAS pinned to {actual.provider}: {actual.path}")
    runs: List[demo_table.Run] = []
    if not demo.steps:
        demo.choose_steps()
    try:
        runs.append(demo.train("baseline", "untouched"))
        runs.append(demo.train("run", "optile, first run", settled_half=True))
        runs.append(demo.train("run", "optile, second run"))
    finally:
        demo.stop_daemon()
    print("\n" + "=" * 78)
    print("\n".join(demo_table.lines(title(demo, runs[0]), runs)))
    print(
        "\nStep times are the program's own; of the first run its second half counts.\n"
        f"The reports: {demo.results}/*.json"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description="Tunes a real training run.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), default="lstm")
    parser.add_argument("--steps", type=int, default=0, help="of each run (default: a minute's)")
    options = parser.parse_args()
    results = options.build / "demo"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="optile-demo-") as private:
        try:
            env = untouched_environment()
            run_demo(
                Demo(
                    build=options.build.resolve(),
                    results=results.resolve(),
                    private=pathlib.Path(private),
                    env=env,
                    workload=options.workload,
                    steps=options.steps,
                )
            )
        except (DemoError, blas_provider.ProviderError, OSError) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
    print(f"The demo took {time.monotonic() - begin:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
