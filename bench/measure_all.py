#!/usr/bin/python3
"""Host optimum and ablation of every workload with every BLAS provider, within a given time.

One folder holds the results, two files for each pair; what is already there is not measured again,
so a long measurement may be interrupted and goes on where it was. The time that is left is divided
among the pairs that are left.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import time
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence

import ablation
import blas_provider
import host_optimum
import private_daemon
import settings
import summary
import workload_run
from workload_run import RunError, TooSlow, progress

PROVIDERS = ("openblas-pthread", "openblas-openmp", "reference")
# For machines with few cores; a workload that is not named here has its own default.
BATCHES: Mapping[str, int] = {"resnet50": 16, "inception_v3": 4}
# A provider with a pool of its own has many more settings, and slow ones among them.
POOL_WEIGHT = 2.5
OPTIMUM_SHARE = 0.5
LEAST_MINUTES = 4.0


@dataclass(frozen=True)
class Pair:
    workload: str
    provider: str
    batch: Optional[int]

    def file(self, folder: pathlib.Path, kind: str) -> pathlib.Path:
        return folder / f"{self.workload}.{self.provider}.{kind}.json"

    def weight(self) -> float:
        return POOL_WEIGHT if self.provider in settings.OWN_POOL else 1.0

    def words(self, json_file: pathlib.Path, minutes: float) -> List[str]:
        batch = ["--batch", str(self.batch)] if self.batch else []
        return [
            self.workload, "--blas", self.provider, "--json", str(json_file),
            "--minutes", f"{minutes:.2f}", *batch,
        ]  # fmt: skip


def finished(path: pathlib.Path, batch: Optional[int]) -> bool:
    """A whole result about this batch; anything else is measured again."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        return result["batch"] == batch and bool(result.get("complete", not result.get("only")))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def measure_pair(pair: Pair, options: argparse.Namespace, minutes: float) -> None:
    begin = time.monotonic()
    optimum = pair.file(options.out, "optimum")
    if finished(optimum, pair.batch):
        progress(f"{optimum} is there already")
    else:
        rounds = ["--rounds", str(options.rounds)]
        host_optimum.main(pair.words(optimum, OPTIMUM_SHARE * minutes) + rounds)
    left = max(LEAST_MINUTES, minutes - (time.monotonic() - begin) / 60)
    words = pair.words(pair.file(options.out, "ablation"), left)
    words += ["--optimum", str(optimum), "--build", str(options.build), "--oracle"]
    ablation.main(words + ["--rounds", str(options.rounds)])


def batches(texts: Sequence[str]) -> Dict[str, int]:
    found = dict(BATCHES)
    for text in texts:
        name, _, number = text.partition("=")
        if name not in workload_run.WORKLOADS or not number.isdigit() or int(number) < 1:
            raise RunError(f"--batch {text}: write WORKLOAD=NUMBER, such as resnet50=16")
        found[name] = int(number)
    return found


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, default=5.0, help="to stay within, about")
    parser.add_argument(
        "--out", type=pathlib.Path, default=ablation.ROOT / "bench" / "results", metavar="FOLDER"
    )
    parser.add_argument("--build", type=pathlib.Path, default=ablation.ROOT / "build")
    parser.add_argument(
        "--workloads", nargs="+", choices=workload_run.WORKLOADS, default=workload_run.WORKLOADS
    )
    parser.add_argument(
        "--providers", nargs="+", choices=sorted(blas_provider.FOLDERS), default=PROVIDERS
    )
    parser.add_argument("--batch", action="append", default=[], metavar="WORKLOAD=NUMBER")
    parser.add_argument("--rounds", type=workload_run.positive, default=15)
    return parser.parse_args(arguments)


def main(arguments: List[str]) -> int:
    options = parse(arguments)
    private_daemon.binaries(options.build)
    chosen = batches(options.batch)
    for provider in options.providers:
        workload_run.checked_provider(provider)
    pairs = [
        Pair(workload, provider, chosen.get(workload))
        for provider in options.providers
        for workload in options.workloads
    ]
    left = [one for one in pairs if not finished(one.file(options.out, "ablation"), one.batch)]
    progress(f"{len(pairs) - len(left)} of {len(pairs)} pairs are there already")
    end = time.monotonic() + options.hours * 3600
    failed = []
    while left:
        weights = sum(pair.weight() for pair in left)
        pair = left.pop(0)
        share = (end - time.monotonic()) / 60 * pair.weight() / weights
        minutes = max(LEAST_MINUTES, share)
        progress(f"== {pair.workload}, {pair.provider}: {minutes:.0f} minutes")
        try:
            measure_pair(pair, options, minutes)
        except (RunError, TooSlow) as error:
            progress(f"{pair.workload}, {pair.provider} failed: {error}")
            failed.append(pair)
    if any(options.out.glob("*.ablation.json")):
        print("\n".join(summary.lines(summary.read(options.out))))
    if failed:
        names = ", ".join(f"{pair.workload} with {pair.provider}" for pair in failed)
        raise RunError(f"not measured: {names}; see above, then start this again")
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("measure_all", main))
