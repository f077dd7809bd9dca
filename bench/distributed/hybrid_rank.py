#!/usr/bin/env python3
"""A rank of a training of dense layers: by DistributedDataParallel, as a pipeline of all ranks, or
as a hybrid of optile.distributed. Prints the median seconds of the later steps, as JSON, on rank 0.
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

LOSS = nn.functional.mse_loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by", choices=("ddp", "pipeline", "hybrid", "auto"), required=True)
    options = rank_options(
        parser, steps=40, timed=20, model_ranks=2, layers=12, width=512, batch=256, threads=1
    )  # fmt: skip
    torch.set_num_threads(options.threads)
    ranks = int(os.environ["WORLD_SIZE"])
    layers = [
        nn.Sequential(nn.Linear(options.width, options.width), nn.ReLU())
        for _ in range(options.layers)
    ]
    model = nn.Sequential(*layers)
    x, y = (torch.randn(options.batch, options.width) for _ in range(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if options.by == "ddp":
        step = ddp_step(model, optimizer, LOSS, x, y)
        print_medians(step, options.steps, options.timed, dict)
        return
    if options.by == "pipeline":
        od.prepare(model, optimizer, LOSS, (x, y), plan="pipeline")
    else:
        # By the mini-batch of a replica, of which "auto" does not know how many there will be.
        replicas = ranks if options.by == "auto" else ranks // options.model_ranks
        part = options.batch // replicas
        od.prepare(
            model, optimizer, LOSS, (x[:part], y[:part]), plan="hybrid",
            model_ranks=options.model_ranks if options.by == "hybrid" else "auto",
        )  # fmt: skip
        rows = part * od.report()["replicas"]
        x, y = x[:rows], y[:rows]
    print_medians(lambda: od.step(x, y), options.steps, options.timed, od.report)


if __name__ == "__main__":
    main()
