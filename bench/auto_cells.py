#!/usr/bin/python3
"""Strategy `auto` against what it has to beat, on every built-in machine and network.

    bench/auto_cells.py BUILD/bin/optile [--noise SIGMA --seed N]

Prints a table for docs/results/simulator.md: a cell says how many times as long the step takes
under the recommendation, under the paper's four strategies and under the best uniform setting.
Simulated, so that it is the same on every machine; some minutes. Fails where a cell is below 1.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Callable, List, Mapping, Optional, Sequence

MACHINES = ("knl", "epyc-2x96", "xeon-snc", "grace-144", "hybrid")
NETWORKS = ("resnet50", "dcgan", "inception_v3", "lstm")
# Of equal schedules: what adding up in another order makes of a sum.
ROUNDING = 1e-9

Simulate = Callable[[str, str, str], Mapping[str, Any]]  # machine, network, strategy


@dataclass(frozen=True)
class Cell:
    machine: str
    network: str
    recommendation: float
    paper: float
    manual: float
    chosen: str

    def least(self) -> float:
        return min(self.recommendation, self.paper, self.manual)


def cell(machine: str, network: str, simulate: Simulate) -> Cell:
    ours = simulate(machine, network, "auto")
    theirs = simulate(machine, network, "paper")
    seconds = ours["step_seconds"]
    return Cell(
        machine,
        network,
        ours["recommendation_seconds"] / seconds,
        theirs["step_seconds"] / seconds,
        ours["manual"]["step_seconds"] / seconds,
        ours["description"].split(" of ")[0],
    )


def mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def table(cells: Sequence[Cell]) -> List[str]:
    lines = [
        "| machine | network | the recommendation | `paper` | the manual optimum | chosen |",
        "|---|---|---|---|---|---|",
    ]
    for one in cells:
        lines.append(
            f"| `{one.machine}` | {one.network} | {one.recommendation:.3f} | {one.paper:.3f} | "
            f"{one.manual:.3f} | {one.chosen} |"
        )
    for machine in dict.fromkeys(one.machine for one in cells):
        here = [one for one in cells if one.machine == machine]
        means = [mean([getattr(one, name) for one in here])
                 for name in ("recommendation", "paper", "manual")]
        text = " | ".join(f"{value:.3f}" for value in means)
        lines.append(f"| `{machine}` | mean | {text} | |")
    return lines


def below_one(cells: Sequence[Cell]) -> List[Cell]:
    return [one for one in cells if one.least() < 1 - ROUNDING]


def runner(optile: pathlib.Path, extra: Sequence[str]) -> Simulate:
    def simulate(machine: str, network: str, strategy: str) -> Mapping[str, Any]:
        print(f"{machine} {network} {strategy}", file=sys.stderr, flush=True)
        printed = subprocess.run(
            [str(optile), "simulate", "--machine", machine, "--graph", network,
             "--strategy", strategy, "--json", *extra],
            check=True, timeout=1800, stdout=subprocess.PIPE, text=True,
        )
        return json.loads(printed.stdout)

    return simulate


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("optile", type=pathlib.Path)
    parser.add_argument("--noise", type=float, default=0.0, help="sigma of every run's logarithm")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    extra = ["--noise", str(options.noise), "--seed", str(options.seed)]
    simulate = runner(options.optile, extra)
    cells = [cell(machine, network, simulate) for machine in MACHINES for network in NETWORKS]
    print("\n".join(table(cells)))
    low = below_one(cells)
    for one in low:
        print(f"below 1: {one.machine} {one.network} {one.least():.4f}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
