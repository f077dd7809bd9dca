#!/usr/bin/python3
"""Trains a small network by optile.distributed and prints losses and what was changed, as JSON.

distributed_train.py --steps N [--slow-rank RANK --slow-seconds S]: that rank computes each row so
much longer, from a third of the steps on.
"""
import argparse
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402

BATCH, WIDTH = 32, 24


class Slowed(nn.Module):
    """Computes as the others do, and holds its rank up."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def forward(self, x):
        time.sleep(self.seconds * len(x))
        return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-seconds", type=float, default=0.0)
    parser.add_argument("--hidden", type=int, nargs="*", default=[])
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    # One a rank, so that ranks can be made to differ.
    hidden = options.hidden[rank] if options.hidden else 64
    held = Slowed(0.0)
    model = nn.Sequential(nn.Linear(WIDTH, hidden), held, nn.ReLU(), nn.Linear(hidden, 1))
    data = torch.randn(16, BATCH, WIDTH)
    target = torch.randn(16, BATCH, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer = od.prepare(model, optimizer, nn.functional.mse_loss, (data[0], target[0]))
    losses = []
    for number in range(options.steps):
        late = number >= options.steps // 3
        held.seconds = options.slow_seconds if late and rank == options.slow_rank else 0.0
        losses.append(float(od.step(data[number % 16], target[number % 16])))
    print(json.dumps({"losses": losses, **od.report()}), flush=True)


if __name__ == "__main__":
    main()
