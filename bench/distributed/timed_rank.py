"""What the programs of ranks here do around their models: a step of DistributedDataParallel, and
telling the medians of the later steps. Needs PyTorch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any, Callable, Dict

import torch
import torch.distributed as dist
from torch import nn

Step = Callable[[], torch.Tensor]


def rank_options(
    parser: argparse.ArgumentParser, steps: int, timed: int, **numbers: int
) -> argparse.Namespace:
    """What a rank is told; `numbers` are further options with their defaults. It has one thread,
    and the same random numbers as every other."""
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--timed", type=int, default=timed, help="the last ones")
    for name, default in numbers.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return options


def ddp_step(
    model: nn.Module, optimizer: torch.optim.Optimizer,
    loss_fn: Callable[[Any, Any], torch.Tensor], x: torch.Tensor, y: torch.Tensor,
) -> Step:  # fmt: skip
    """With equal rows for every rank."""
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    rows = slice(dist.get_rank(), None, dist.get_world_size())
    own_x, own_y = x[rows], y[rows]
    wrapped = nn.parallel.DistributedDataParallel(model)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(wrapped(own_x), own_y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def print_medians(
    step: Step, steps: int, timed: int, report: Callable[[], Dict[str, Any]]
) -> None:
    """Runs so many steps, and prints the medians of the last ones as JSON, with the report behind
    them, on rank 0; of the processor time, those of all ranks, too."""
    seconds, processor = [], []
    for _ in range(steps):
        begin, began = time.perf_counter(), time.process_time()
        loss = step()
        seconds.append(time.perf_counter() - begin)
        processor.append(time.process_time() - began)
    told = report()
    used = statistics.median(processor[-timed:])
    every = [used] * (dist.get_world_size() if dist.is_initialized() else 1)
    if len(every) > 1:
        dist.all_gather_object(every, used)
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps({
            "seconds": statistics.median(seconds[-timed:]),
            "processor_seconds": used, "processor_seconds_of_ranks": every,
            "loss": float(loss), **told,
        }))  # fmt: skip
