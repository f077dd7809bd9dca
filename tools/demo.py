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
import signal
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
# Name -> (what it is, steps). Enough steps for the search to settle, few enough for the patience
# of somebody who watches; the untouched run is the slow one.
WORKLOADS = {
    "lstm": ("two-layer LSTM language model, batch 20", 200),
    "digits": ("small convolutional network on scikit-learn's digits, batch 64", 400),
    "dcgan": ("DCGAN, 28x28, batch 64", 120),
}
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
    steps: int

    @property
    def socket(self) -> pathlib.Path:
        return self.private / "optiled.sock"

    def train(self, verb: str, label: str, settled_half: bool = False) -> demo_table.Run:
        """`optile VERB … -- python3 WORKLOAD`, with its progress on the terminal."""
        report = self.results / f"{label.replace(' ', '-').replace(',', '')}.json"
        # Every run has the same command line: that is what makes it the same program to optile.
        own = self.results / "program.json"
        own.unlink(missing_ok=True)
        script = ROOT / "bench" / "workloads" / f"{self.workload}.py"
        command = [
            str(self.build / "bin" / "optile"), verb, "--socket", str(self.socket),
            "--store", str(self.private / "store.db"), "--report", str(report), "--",
            blas_provider.PYTHON, str(script), "--steps", str(self.steps), "--json", str(own),
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
        command = [
            str(self.build / "bin" / "optile"), "status", "--json", "--socket", str(self.socket),
        ]  # fmt: skip
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        try:
            pid = int(json.loads(done.stdout)["pid"])
        except (ValueError, KeyError):
            return
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


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
        "Program": WORKLOADS[demo.workload][0] + f", {demo.steps} steps (PyTorch "
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
    parser.add_argument("--steps", type=int, help="of each run (default: as fits the workload)")
    options = parser.parse_args()
    results = options.build / "demo"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    steps = options.steps or WORKLOADS[options.workload][1]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="optile-demo-") as private:
        try:
            env = untouched_environment()
            run_demo(
                Demo(options.build, results, pathlib.Path(private), env, options.workload, steps)
            )
        except (DemoError, blas_provider.ProviderError, OSError) as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
    print(f"The demo took {time.monotonic() - begin:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
