#!/usr/bin/env python3
"""A rank of a training of dense layers: by DistributedDataParallel with equal shares, or by
optile.distributed. Prints the median seconds of the later steps, as JSON, on rank 0.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import optile.distributed as od  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", choices=("ddp", "optile"), required=True)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--timed", type=int, default=40, help="the last ones")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    layers = []
    for _ in range(options.layers):
        layers += [nn.Linear(options.width, options.width), nn.ReLU()]
    model = nn.Sequential(*layers)
    x = torch.randn(options.batch, options.width)
    y = torch.randn(options.batch, options.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.functional.mse_loss
    if options.by == "optile":
        model, optimizer = od.prepare(model, optimizer, loss_fn, (x, y))
        step = od.step
    else:
        part = options.batch // ranks
        mine = slice(rank * part, (rank + 1) * part)
        model = DistributedDataParallel(model)

        def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_fn(model(x[mine]), y[mine])
            loss.backward()
            optimizer.step()
            return loss.detach()

    seconds = []
    for _ in range(options.steps):
        begin = time.perf_counter()
        loss = step(x, y)
        seconds.append(time.perf_counter() - begin)
    if rank == 0:
        report = od.report() if options.by == "optile" else {"shares": [1 / ranks] * ranks}
        median = statistics.median(seconds[-options.timed :])
        print(json.dumps({"seconds": median, "loss": float(loss), **report}))


if __name__ == "__main__":
    main()
