#!/usr/bin/env python3
"""A rank of a training of dense layers: by DistributedDataParallel with equal shares, or by
optile.distributed. Prints the median seconds of the later steps, as JSON, on rank 0.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from timed_rank import ddp_step, print_medians, rank_options  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", choices=("ddp", "optile"), required=True)
    options = rank_options(parser, steps=80, timed=40, layers=12, width=512, batch=128)
    ranks = int(os.environ["WORLD_SIZE"])
    layers = []
    for _ in range(options.layers):
        layers += [nn.Linear(options.width, options.width), nn.ReLU()]
    model = nn.Sequential(*layers)
    x = torch.randn(options.batch, options.width)
    y = torch.randn(options.batch, options.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.functional.mse_loss
    if options.by == "optile":
        od.prepare(model, optimizer, loss_fn, (x, y))
        print_medians(lambda: od.step(x, y), options.steps, options.timed, od.report)
        return
    step = ddp_step(model, optimizer, loss_fn, x, y)
    print_medians(step, options.steps, options.timed, lambda: {"shares": [1 / ranks] * ranks})


if __name__ == "__main__":
    main()
