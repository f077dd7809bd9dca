#!/usr/bin/env python3
"""A rank of a training of VGG-16 on small images: by DistributedDataParallel, or with its layers
divided by optile.distributed. Prints the median seconds of the later steps, and of
their processor time, as JSON, on rank 0.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import tempfile
from typing import Any, Dict, List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from timed_rank import ddp_step, print_medians, rank_options  # noqa: E402

BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, and how many convolutions
HALVINGS = len(BLOCKS)
CLASSES = 1000
# By which dimension convolutions and pooling are split, and by which dense layers.
CHOSEN = {"all_n": "nn", "all_c": "cc", "dense_c": "nc"}


def vgg16(size: int) -> nn.Sequential:
    """Configuration D of the paper; dropout is left out, so that forms compute the same."""
    layers: List[nn.Module] = []
    before = 3
    for channels, count in BLOCKS:
        for _ in range(count):
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU(inplace=True)]
            before = channels
        layers.append(nn.MaxPool2d(2))
    side = size >> HALVINGS
    layers += [nn.Flatten(), nn.Linear(before * side * side, 4096), nn.ReLU(inplace=True)]
    layers += [nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, CLASSES)]
    return nn.Sequential(*layers)


def kind_of(layer: nn.Module) -> str:
    kinds = {nn.Conv2d: "convolution", nn.MaxPool2d: "pooling", nn.Linear: "dense"}
    return kinds.get(type(layer), "")


def chosen_splits(by: str, model: nn.Sequential, ranks: int) -> Dict[str, Any]:
    """As `optile place network --json` gives them."""
    spatial, dense = CHOSEN[by]
    kinds = [kind_of(one) for one in model if kind_of(one)]
    return {"devices": ranks, "layers": [
        {"name": str(number), "kind": kind,
         "degrees": {dense if kind == "dense" else spatial: ranks}}
        for number, kind in enumerate(kinds)
    ]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", choices=("ddp", "found", *CHOSEN), required=True)
    options = rank_options(parser, steps=9, timed=6, size=32, batch=8)
    model = vgg16(options.size)
    x = torch.randn(options.batch, 3, options.size, options.size)
    y = torch.randint(0, CLASSES, (options.batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    loss_fn = nn.functional.cross_entropy
    if options.by == "ddp":
        step = ddp_step(model, optimizer, loss_fn, x, y)
        print_medians(step, options.steps, options.timed, dict)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        if options.by in CHOSEN:
            json.dump(chosen_splits(options.by, model, ranks), file)
            file.flush()
        splits = file.name if options.by in CHOSEN else None
        od.prepare(model, optimizer, loss_fn, (x, y), plan="splits", splits=splits)
    print_medians(lambda: od.step(x, y), options.steps, options.timed, od.report)


if __name__ == "__main__":
    main()
