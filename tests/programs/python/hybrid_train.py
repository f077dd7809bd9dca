#!/usr/bin/python3
"""Trains a small network by optile.distributed as a hybrid: replicas of a model that several ranks
run. Prints losses, what was changed and what was trained, as JSON.

hybrid_train.py --model-ranks M: so many ranks run one model, or "auto". Batches have the same rows
however many processes there are. With --slow-rank RANK --slow-factor F that rank takes so many
times as long, in the middle third of the steps. Time is that of a clock which computing alone
moves. With --delayed K an update is made with every K-th of K times as many batches, which are so
many times as small.
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
    PlayedClock, Timed, made_optimizer, norms, report, state_norms)

BATCH, WIDTH, LAYERS = 24, 8, 6
CLOCK = PlayedClock()


@torch.fx.wrap
def timed(x):
    return Timed.apply(x, CLOCK)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.unused = nn.Parameter(torch.ones(WIDTH))  # has no gradient in any replica

    def forward(self, x):
        return timed(torch.tanh(self.linear(x)))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = Layer(), nn.Linear(3 * WIDTH, WIDTH)
        self.branches = nn.ModuleList(Layer() for _ in range(3))
        self.first.linear.bias.requires_grad_(False)

    def forward(self, x):
        x = self.first(x)
        return self.last(torch.cat([branch(x) for branch in self.branches], 1))


def epochs_of(text):
    """`48:1,96:none` as a dict, and a file's name as it is."""
    if text is None or ":" not in text:
        return text
    pairs = (one.split(":") for one in text.split(","))
    return {int(rows): None if number == "none" else float(number) for rows, number in pairs}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--model-ranks", default="2")
    parser.add_argument("--model-plan", default="pipeline")
    parser.add_argument("--replicas", type=int, default=2, help="by which the batch is divided")
    parser.add_argument("--optimizer", choices=("adam", "sgd"), default="sgd")
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow-factor", type=float, default=1.0)
    parser.add_argument("--micro-batches", type=int)
    parser.add_argument("--epochs", type=epochs_of)
    parser.add_argument("--delayed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--stay", action="store_true")
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    placed = options.model_plan == "placement"
    model = Branches() if placed else nn.Sequential(*(Layer() for _ in range(LAYERS)))
    data, target = torch.randn(8, BATCH, WIDTH), torch.rand(8, BATCH, WIDTH)
    if rank > 0:
        # What all begin with is rank 0's.
        with torch.no_grad():
            (model.last if placed else model[-1].linear).weight.zero_()
    optimizer = made_optimizer(options.optimizer, model)
    delayed = od.delayed_updates(optimizer, options.delayed)
    part = BATCH // options.delayed
    ranks = options.model_ranks
    model, _ = od.prepare(
        model, delayed if options.delayed > 1 else optimizer, nn.functional.mse_loss,
        (data[0, : part // options.replicas], target[0, : part // options.replicas]),
        plan="hybrid", model_ranks=int(ranks) if ranks.isdigit() else ranks,
        model_plan=options.model_plan, micro_batches=options.micro_batches, epochs=options.epochs,
        keep=options.keep, clock=CLOCK)
    losses, plans = [], []
    for number in range(options.steps):
        slow = options.steps // 3 <= number < 2 * options.steps // 3
        CLOCK.factor = options.slow_factor if slow and rank == options.slow_rank else 1.0
        parts = zip(data[number % 8].split(part), target[number % 8].split(part))
        losses.append(sum(float(od.step(x, y)) for x, y in parts) / options.delayed)
        told = od.report()
        plan = told.get("boundaries") or list(told.get("placement", {}).values())
        if not plans or plan != plans[-1]:
            plans.append(plan)
    own = [number for number, one in enumerate(state_norms(optimizer, model)) if one]
    od.gather_model()
    report({
        "losses": losses, **told, "plans": plans, "stateful": own,
        "weights": norms(model.parameters()), "states": state_norms(optimizer, model),
    }, None)
    if options.stay:
        sys.stdin.read()


if __name__ == "__main__":
    main()
