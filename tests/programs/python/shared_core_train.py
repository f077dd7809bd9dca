"""A rank of a pipeline of two, whose layers wait and hardly compute: the wall clock, which is
played, moves by what they wait, and the processor's time does not. It may use the core whose number
in the list of those it has is given. Prints what it reports first and last.
"""
import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from played_training import PlayedClock  # noqa: E402

CLOCK = time.perf_counter = PlayedClock()  # what prepare() takes where it is given no clock

import optile.distributed as od  # noqa: E402

WIDTH = 4
ROWS = 8
STEPS = 8  # a window ends within them


class Waiting(nn.Module):
    def __init__(self, seconds):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self._seconds = seconds

    def forward(self, x):
        CLOCK.now += self._seconds
        return self.linear(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, nargs=2, required=True, help="of each rank")
    parser.add_argument("--waits", type=float, required=True, help="seconds, of each layer")
    options = parser.parse_args()
    mine = options.cores[int(os.environ["RANK"])]
    os.sched_setaffinity(0, [sorted(os.sched_getaffinity(0))[mine]])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(*(Waiting(options.waits) for _ in range(2)))
    x, y = torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    od.prepare(model, optimizer, nn.functional.mse_loss, (x, y), plan="pipeline", micro_batches=2,
               boundaries=[1])
    first = od.report()
    for _ in range(STEPS):
        od.step(x, y)
    print(json.dumps([first, od.report()]))


if __name__ == "__main__":
    main()
