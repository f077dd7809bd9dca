#!/usr/bin/python3
"""Trains a small network as a pipeline by optile.distributed. Prints losses, what was changed and
what was trained, as JSON.

pipeline_train.py --steps N [--slow-rank RANK --slow-factor F]: that rank takes so many times as
long for a layer, in the middle third of the steps. Time is that of a clock which computing alone
moves. With --stay it ends when its input does. With --lost-rank RANK each rank keeps its part of
the training, and that rank is killed after half of the steps, unless torchrun has started it again.
With --output it prints to a file of each rank. With --wait-step N it prints "waits" before that
step and goes on when it has read a line.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from played_training import (  # noqa: E402
    PlayedClock, Timed, kill_self, made_optimizer, norms, report, state_norms, wait_at)

BATCH, WIDTH = 24, 16


class Layer(nn.Module):
    def __init__(self, inputs, outputs, clock):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.register_buffer("rows_seen", torch.zeros((), dtype=torch.long))
        self._clock = clock

    def forward(self, x):
        self.rows_seen += len(x)
        return Timed.apply(torch.tanh(self.linear(x)), self._clock)


class Hidden(nn.Module):
    """Its layers cannot be told apart from outside."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class Told(Hidden):
    def pipeline_layers(self):
        return self.layers


class Transposed(nn.Module):
    """What it passes on does not lie in memory as its shape says."""

    def forward(self, x):
        return x.transpose(1, 2)


def mixed_layers(clock):
    """A stage could have no gradients, begin with a layer that works in place, or be passed what is
    not contiguous."""
    frozen = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
    return [frozen, Layer(WIDTH, WIDTH, clock), nn.ReLU(inplace=True),
            nn.Unflatten(1, (2, WIDTH // 2)), Transposed(), nn.Flatten(),
            Layer(WIDTH, WIDTH, clock)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--layers", type=int, default=9)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-factor", type=float, default=1.0)
    parser.add_argument("--optimizer", choices=("adam", "sgd"), default="sgd")
    parser.add_argument("--schedule", default="1f1b")
    parser.add_argument("--micro-batches", type=int)
    parser.add_argument("--stay", action="store_true")
    parser.add_argument("--boundaries", type=int, nargs="*")
    parser.add_argument("--lost-rank", type=int)
    parser.add_argument("--wait-step", type=int)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--hidden", type=int, nargs="*", default=[])
    parser.add_argument("--model", default="sequential",
                        choices=("sequential", "told", "hidden", "mixed"))
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    clock = PlayedClock()
    hidden = options.hidden[rank] if options.hidden else WIDTH
    widths = [WIDTH, *[hidden] * (options.layers - 1), WIDTH]
    layers = [Layer(*pair, clock) for pair in zip(widths, widths[1:])]
    if options.model == "mixed":
        layers = mixed_layers(clock)
    kinds = {"told": Told, "hidden": Hidden}
    model = kinds[options.model](layers) if options.model in kinds else nn.Sequential(*layers)
    data, target = torch.randn(8, BATCH, WIDTH), torch.rand(8, BATCH, WIDTH)
    if rank > 0:
        # What all begin with is rank 0's.
        with torch.no_grad():
            layers[-1].linear.weight.zero_()
    optimizer = made_optimizer(options.optimizer, model)
    slower = torch.optim.lr_scheduler.StepLR(optimizer, options.steps // 2)
    model, optimizer = od.prepare(
        model, optimizer, nn.functional.mse_loss, (data[0], target[0]), plan="pipeline",
        micro_batches=options.micro_batches, schedule=options.schedule,
        boundaries=options.boundaries, keep=options.lost_rank is not None, stateful=[slower],
        clock=clock)
    first_life = od.steps_done() == 0
    losses, reports = [], []
    for number in range(od.steps_done(), options.steps):
        wait_at(options.wait_step, number)
        if first_life and rank == options.lost_rank and number == options.steps // 2:
            kill_self()
        slow = options.steps // 3 <= number < 2 * options.steps // 3
        clock.factor = options.slow_factor if slow and rank == options.slow_rank else 1.0
        losses.append(float(od.step(data[number % 8], target[number % 8])))
        slower.step()
        reports.append(od.report())
    own = [number for number, one in enumerate(state_norms(optimizer, model)) if one]
    od.gather_model()
    report({
        "losses": losses, **reports[-1],
        "boundaries_seen": [one.get("boundaries") for one in reports],
        "stateful": own, "weights": norms(model.parameters()),
        "rows_seen": [int(one) for one in model.buffers()],
        "states": state_norms(optimizer, model),
    }, options.output)
    if options.stay:
        sys.stdin.read()


if __name__ == "__main__":
    main()
