#!/usr/bin/env python3
"""Epochs that a small network takes to a fixed loss, by global batch: larger batches are those of
delayed updates, as few devices emulate many (Pal et al., section 4.2). Writes what
od.prepare(plan="hybrid", epochs=FILE) reads, and prints it for `optile parallelism`.

    bench/distributed/epochs.py --replicas 1 2 4 8 16 --output epochs.json

The learning rate is that of one replica for all, or with --scaled grows with their number. A loss
that is not reached within --most epochs counts as: it does not converge.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Dict, List, Optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402

INPUTS, HIDDEN, CLASSES = 32, 64, 8


class Task:
    """Classes as a fixed random network tells them."""

    def __init__(self, rows: int) -> None:
        torch.manual_seed(1)
        teacher = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES))
        with torch.no_grad():
            self.x = torch.randn(rows, INPUTS)
            self.y = teacher(self.x).argmax(1)

    @staticmethod
    def network(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))


def epochs_to(options: argparse.Namespace, task: Task, replicas: int, seed: int) -> Optional[int]:
    model = task.network(seed)
    rate = options.rate * (replicas if options.scaled else 1)
    plain = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    optimizer = od.delayed_updates(plain, replicas)
    for epoch in range(1, options.most + 1):
        order = torch.randperm(len(task.x))
        for rows in order.split(options.batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(task.x[rows]), task.y[rows]).backward()
            optimizer.step()
        with torch.no_grad():
            loss = float(nn.functional.cross_entropy(model(task.x), task.y))
        if not loss > options.loss:
            return epoch if loss == loss else None
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--batch", type=int, default=32, help="of one replica")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--loss", type=float, default=0.3)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--scaled", action="store_true")
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3, help="of which the mean counts")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    task = Task(options.rows)
    found: Dict[int, Optional[float]] = {}
    for replicas in options.replicas:
        taken = [epochs_to(options, task, replicas, seed) for seed in range(options.seeds)]
        reached: List[int] = [one for one in taken if one is not None]
        found[replicas] = sum(reached) / len(reached) if len(reached) == len(taken) else None
        print(f"batch {replicas * options.batch}: epochs {taken}", file=sys.stderr)
    pairs = (f"{one}:{'none' if number is None else format(number, '.4g')}"
             for one, number in found.items())  # fmt: skip
    print("--epochs " + ",".join(pairs))
    if options.output:
        by_batch = {replicas * options.batch: number for replicas, number in found.items()}
        options.output.write_text(json.dumps(by_batch) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
