#!/usr/bin/env python3
"""A rank of a training of dense layers as a pipeline: with the boundaries it is given, or with
those of optile.distributed. Prints the median seconds of the later steps, as JSON, on rank 0.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from timed_rank import print_medians, rank_options  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boundaries", type=int, nargs="*", help="the first layer of each stage")
    parser.add_argument("--micro-batches", type=int)
    parser.add_argument("--schedule", default="1f1b")
    options = rank_options(parser, steps=80, timed=40, layers=12, width=512, batch=512)
    layers = [
        nn.Sequential(nn.Linear(options.width, options.width), nn.ReLU())
        for _ in range(options.layers)
    ]
    model = nn.Sequential(*layers)
    x = torch.randn(options.batch, options.width)
    y = torch.randn(options.batch, options.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    od.prepare(
        model, optimizer, nn.functional.mse_loss, (x, y), plan="pipeline",
        micro_batches=options.micro_batches, schedule=options.schedule,
        boundaries=options.boundaries,
    )  # fmt: skip
    print_medians(lambda: od.step(x, y), options.steps, options.timed, od.report)


if __name__ == "__main__":
    main()
