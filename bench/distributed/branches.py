#!/usr/bin/env python3
"""A rank of a training of blocks with branches, as Inception's: alone, by DistributedDataParallel,
or with its operators placed by optile.distributed. Prints the median seconds of the later steps, as
JSON, on rank 0.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "workloads"), str(BENCH.parent / "bindings" / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from inception_v3 import Branches, InceptionV3, Unit, chain, pooled  # noqa: E402
from timed_rank import ddp_step, print_medians, rank_options  # noqa: E402

CLASSES = 10


def head(channels: int) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


def block(channels: int) -> nn.Module:
    """Of GoogLeNet's kind: 1x1, 3x3, two 3x3 and pooling."""
    part = channels // 4
    return Branches(
        Unit(channels, part, 1), chain(channels, (part, 1), (part, 3)),
        chain(channels, (part, 1), (part, 3), (part, 3)), pooled(channels, part),
    )  # fmt: skip


def model_of(options: argparse.Namespace) -> nn.Module:
    """Inception-v3 without its auxiliary classifier, or blocks alone."""
    if options.model == "inception_v3":
        whole = InceptionV3()
        grids = (whole.grid_35, whole.grid_17, whole.grid_8)
        return nn.Sequential(whole.stem, *grids, whole.dropout, head(2048))
    blocks = [block(options.channels) for _ in range(options.blocks)]
    return nn.Sequential(Unit(3, options.channels, 3), *blocks, head(options.channels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", choices=("alone", "ddp", "placement"), required=True)
    parser.add_argument("--model", choices=("blocks", "inception_v3"), default="blocks")
    # A placement has found by then whether one rank alone is faster.
    options = rank_options(parser, steps=70, timed=20, blocks=4, channels=128, size=16, batch=16)
    model = model_of(options)
    x = torch.randn(options.batch, 3, options.size, options.size)
    y = torch.randint(0, CLASSES, (options.batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.functional.cross_entropy
    if options.by == "ddp":
        step = ddp_step(model, optimizer, loss_fn, x, y)
        print_medians(step, options.steps, options.timed, dict)
        return
    plan = "placement" if options.by == "placement" else "data"
    od.prepare(model, optimizer, loss_fn, (x, y), plan=plan)
    report = od.report if options.by == "placement" else dict
    print_medians(lambda: od.step(x, y), options.steps, options.timed, report)


if __name__ == "__main__":
    main()
