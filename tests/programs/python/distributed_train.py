#!/usr/bin/python3
"""Trains a small network by optile.distributed and prints losses and what was changed, as JSON.

distributed_train.py --steps N [--slow-rank RANK --slow-factor F]: that rank takes so many times as
long for a row, from a third of the steps on. Time is that of a clock which computing alone moves.
With --lost-rank RANK the training's state is kept, and that rank is killed after half of the steps,
unless torchrun has started it again. With --output it prints to a file of each rank. With
--wait-step N it prints "waits" before that step and goes on when it has read a line.
"""
import argparse
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402

BATCH, WIDTH = 32, 24
ROW_SECONDS = 0.001


class Network(nn.Sequential):
    def __init__(self, *layers):
        super().__init__(*layers)
        self._layers = len(layers)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        for layer in list(self)[: self._layers]:
            x = layer(x)
        return x


class Timed(nn.Module):
    """Computes nothing, and takes so long for each row by its own clock."""

    def __init__(self):
        super().__init__()
        self.row_seconds = ROW_SECONDS
        self.now = 0.0

    def clock(self):
        return self.now

    def forward(self, x):
        self.now += self.row_seconds * len(x)
        return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-factor", type=float, default=1.0)
    parser.add_argument("--lost-rank", type=int)
    parser.add_argument("--wait-step", type=int)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--hidden", type=int, nargs="*", default=[])
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    # One a rank, so that ranks can be made to differ.
    hidden = options.hidden[rank] if options.hidden else 64
    timed = Timed()
    model = Network(nn.Linear(WIDTH, hidden), timed, nn.ReLU(), nn.Linear(hidden, 1))
    data = torch.randn(16, BATCH, WIDTH)
    target = torch.randn(16, BATCH, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    slower = torch.optim.lr_scheduler.StepLR(optimizer, 7)
    model, optimizer = od.prepare(model, optimizer, nn.functional.mse_loss, (data[0], target[0]),
                                  keep=options.lost_rank is not None, stateful=[slower],
                                  clock=timed.clock)
    first_life = od.steps_done() == 0
    losses = []
    for number in range(od.steps_done(), options.steps):
        if first_life and rank == options.lost_rank and number == options.steps // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == options.wait_step:
            print("waits", flush=True)
            sys.stdin.readline()
        if number == options.steps // 3 and rank == options.slow_rank:
            timed.row_seconds *= options.slow_factor
        losses.append(float(od.step(data[number % 16], target[number % 16])))
        slower.step()
    weights = [float(one.detach().double().norm()) for one in model.parameters()]
    said = json.dumps({"losses": losses, "weights": weights, **od.report()})
    if options.output:
        options.output.with_suffix(f".{rank}").write_text(said)
    print(said, flush=True)


if __name__ == "__main__":
    main()
