#!/usr/bin/python3
"""Trains a small network on several ranks by optile.distributed, data parallel, until it is told to
end. Prints rank 0's report as JSON.

published_train.py FILE: JSON in it says how many times as long rank 1 takes for a row, and whether
to end: {"factor": 2, "end": false}. Rank 0 reads it before each step. Time is that of a clock which
computing alone moves.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from played_training import PlayedClock, Timed  # noqa: E402

BATCH, WIDTH = 60, 8


class Slow(nn.Module):
    def __init__(self, clock):
        super().__init__()
        self._clock = clock

    def forward(self, x):
        return Timed.apply(x, self._clock)


def main():
    told = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    clock = PlayedClock()
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), Slow(clock), nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(BATCH, WIDTH), torch.randn(BATCH, 1)
    model, optimizer = od.prepare(model, optimizer, nn.functional.mse_loss, (x, y), clock=clock)
    rank, said = dist.get_rank(), torch.zeros(2)
    while True:
        if rank == 0:
            now = json.loads(told.read_text(encoding="utf-8"))
            said = torch.tensor([now["factor"], float(now["end"])])
        dist.broadcast(said, 0)
        if said[1] > 0:
            break
        clock.factor = float(said[0]) if rank == 1 else 1.0
        od.step(x, y)
    if rank == 0:
        print(json.dumps(od.report()))


if __name__ == "__main__":
    main()
