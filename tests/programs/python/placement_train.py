#!/usr/bin/python3
"""Trains a network with branches whose operators optile.distributed places on ranks. Prints losses,
what was changed and what was trained, as JSON.

placement_train.py --steps N: so many steps. With --slow-rank RANK --slow-factor F: three phases, in
the middle one of which that rank takes so many times as long; each ends N steps after the
placement was changed. Time is that of a clock which computing alone moves. With --lost-rank RANK
each rank keeps its part of the training, and that rank is killed after half of the steps, unless
torchrun has started it again. With --output it prints to a file of each rank. With --wait-step N it
prints "waits" before that step and goes on when it has read a line.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
import torch.fx  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from played_training import (  # noqa: E402
    Counting, PlayedClock, Timed, kill_self, made_optimizer, norms, report, state_norms, wait_at)

BATCH, WIDTH, CLASSES = 12, 8, 4
MOST_STEPS = 20_000  # of a phase that waits for a change
CLOCK = PlayedClock()


@torch.fx.wrap
def timed(x):
    return Timed.apply(x, CLOCK)


class Branch(nn.Module):
    """So many layers, one behind the other, and a statement and a layer that work in place."""

    def __init__(self, layers, width):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.ReLU(inplace=True)

    def forward(self, x):
        for layer in self.layers:
            x = timed(torch.tanh(layer(x)))
        x.clamp_(max=0.1)
        return self.last(self.norm(x))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.branches = nn.ModuleList(Branch(layers, width) for layers in (1, 2, 3, 2))
        self.merge = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.merge(torch.cat([branch(x) for branch in self.branches], 1))


class Untraceable(Counting):
    """Inside; what it does depends on what it is given."""

    def forward(self, x):
        x = super().forward(x)
        if x.sum() > 1e9:
            return -x
        return x


class Network(nn.Module):
    def __init__(self, blocks, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.shared = nn.Linear(width // 2, width // 2)
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("mask", torch.ones(width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.counting = Untraceable()
        self.unused = nn.Linear(2, 2)
        self.head = nn.Linear(2 * width, CLASSES)

    def forward(self, x):
        x = torch.relu_(self.first(x)) * self.mask
        for block in self.blocks:
            x = block(x)
        rows = x.size(0)
        left, right = self.counting(x).chunk(2, 1)
        halves = [self.shared(left) * self.scale[: left.shape[1]], self.shared(right)]
        return self.head(torch.cat([*halves, x], 1).view(rows, -1)) / rows


class Scalar(nn.Module):
    """Passes on what only the rank that computes it knows."""

    def forward(self, x):
        return x * x.mean().item()


def made_model(kind, width):
    if kind == "scalar":
        return nn.Sequential(Scalar(), nn.Linear(width, CLASSES))
    return Network(2, width)


class Phases:
    """Which rank is how slow; for all ranks alike, by the changes that all of them see."""

    def __init__(self, options):
        self._steps = options.steps
        self._factors = [1.0, options.slow_factor, 1.0] if options.slow_rank >= 0 else [1.0]
        self._since = 0
        self._known = 0
        self.changing = len(self._factors) > 1
        self.phase = 0

    @property
    def over(self):
        return self.phase == len(self._factors)

    @property
    def factor(self):
        return self._factors[self.phase]

    def stepped(self, step, changes):
        waits = self.phase > 0 and len(changes) == self._known
        if waits and step - self._since < MOST_STEPS:
            return
        behind = changes[-1]["step"] if self.phase > 0 and changes else self._since
        if step - behind >= self._steps:
            self.phase += 1
            self._since = step
            self._known = len(changes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-factor", type=float, default=1.0)
    parser.add_argument("--optimizer", choices=("adam", "sgd"), default="sgd")
    parser.add_argument("--model", choices=("branches", "scalar"), default="branches")
    parser.add_argument("--width", type=int, nargs="*", default=[WIDTH])
    parser.add_argument("--placement")
    parser.add_argument("--assisted", action="store_true")
    parser.add_argument("--graph")
    parser.add_argument("--lost-rank", type=int)
    parser.add_argument("--wait-step", type=int)
    parser.add_argument("--rows", type=int, default=BATCH, help="of the batches, not the example")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    width = options.width[rank % len(options.width)]
    model = made_model(options.model, width)
    data, target = torch.randn(8, BATCH, width), torch.randint(0, CLASSES, (8, BATCH))
    if rank > 0:
        # What all begin with is rank 0's.
        with torch.no_grad():
            for one in model.parameters():
                one.zero_()
    optimizer = made_optimizer(options.optimizer, model)
    for group in optimizer.param_groups:
        group["lr"] /= 100  # many steps, in which rounding may not grow
    model, optimizer = od.prepare(
        model, optimizer, nn.functional.cross_entropy, (data[0], target[0]), plan="placement",
        placement=options.placement, assisted=options.assisted,
        keep=options.lost_rank is not None, clock=CLOCK)
    if options.graph and rank == 0:
        od.save_graph(options.graph)
    done = first = od.steps_done()
    losses, placements = [], []
    phases = Phases(options)
    while not phases.over:
        wait_at(options.wait_step, done)
        if first == 0 and rank == options.lost_rank and done == options.steps // 2:
            kill_self()
        CLOCK.factor = phases.factor if rank == options.slow_rank else 1.0
        rows = slice(options.rows)
        losses.append(float(od.step(data[done % 8][rows], target[done % 8][rows])))
        done += 1
        told = od.report()
        if not placements or told.get("placement") != placements[-1]:
            placements.append(told.get("placement"))
        phases.stepped(done, told["changes"])
    own = [number for number, one in enumerate(state_norms(optimizer, model)) if one]
    od.gather_model()
    report({
        "losses": losses, **told, "placements": placements, "stateful": own,
        "weights": norms(model.parameters()), "buffers": norms(model.buffers()),
        "states": state_norms(optimizer, model),
    }, options.output)


if __name__ == "__main__":
    main()
