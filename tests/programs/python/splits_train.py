#!/usr/bin/python3
"""Trains networks whose layers optile.distributed divides over ranks by rows or by channels.
Prints losses, the report and what was trained, as JSON.

splits_train.py --steps N --runs OPTIMIZER:[FILE]...: one training after the other, each of so many
steps, by the splits of the file, with the model gathered and divided again in their middle. With
--graph FILE it writes there what was measured. With --socket PATH it tells the daemon there of its
plan, and prints what `optile cluster plan` shows then. With --refusals it prints what is said of
models and options that cannot be run.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import optile.distributed as od  # noqa: E402
from played_training import Counting, made_optimizer, norms, report, state_norms  # noqa: E402

ROWS, SIDE, CLASSES = 6, 32, 5
BLOCKS = ((4, 2), (4, 2), (6, 3), (6, 3), (7, 3))  # channels, and how many convolutions


def thin_vgg16():
    """As VGG-16, with few channels."""
    layers, before = [], 3
    for channels, count in BLOCKS:
        for _ in range(count):
            layers += [nn.Conv2d(before, channels, 3, padding=1), nn.ReLU(inplace=True)]
            before = channels
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(before, 9), nn.ReLU(), nn.Linear(9, 8), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(8, CLASSES))


class Block(nn.Module):
    """Branches, a normalisation over the batch, one over channels, and a parameter of its own."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.scale = nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x):
        read = torch.relu(self.norm(self.first(x)))
        x = x + self.second(read)
        return x * self.scale + torch.softmax(read, 1)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, stride=4)
        self.blocks = nn.Sequential(Block(6), Block(6))
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x):
        x = self.blocks(torch.relu_(self.stem(x)))
        return self.head(x.flatten(2).mean(2).view(x.size(0), -1))


class Untraceable(nn.Sequential):
    def forward(self, x):
        return super().forward(x if x.sum() > 0 else -x)


class InPlace(nn.Module):
    """What it works on in place is read again."""

    def forward(self, x):
        y = torch.tanh(x)
        return y + y.mul_(2)


def prepare(model, optimizer, data, target, splits, **options):
    return od.prepare(model, optimizer, nn.functional.cross_entropy, (data, target),
                      plan="splits", splits=splits, **options)


def refusals(folder, rank):
    data, target = torch.randn(ROWS, 3, 4, 4), torch.zeros(ROWS, dtype=torch.long)

    def message(make_optimizer=torch.optim.SGD, before=(), rows=ROWS, answer=None,
                kind=nn.Sequential, holds=False, **options):
        model = kind(*before, nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(8, CLASSES))
        held = model(data) if holds else None  # with the graph behind it
        splits = None
        if answer is not None:
            splits = str(folder / "refused.json")
            if rank == 0:
                pathlib.Path(splits).write_text(json.dumps(answer))
        try:
            prepare(model, make_optimizer(model.parameters(), lr=0.1), data[:rows], target[:rows],
                    splits, **options)
        except (RuntimeError, ValueError) as error:
            return str(error)
        return f"nothing, {held}"

    def network(devices=2, **degrees):
        return {"devices": devices, "layers": [
            {"name": "conv1", "kind": "convolution", "degrees": degrees},
            {"name": "dense2", "kind": "dense", "degrees": {"n": devices}}]}

    return {
        "untraceable": message(kind=Untraceable),
        "counting": message(before=[Counting()]),
        "in place": message(before=[InPlace()]),
        "lbfgs": message(torch.optim.LBFGS),
        "keep": message(keep=True),
        "held output": message(holds=True),
        "one row": message(rows=1),
        "other models": message(before=[nn.Conv2d(3, 3, 1 + 2 * rank, padding=rank)]),
        "other batches": message(rows=ROWS - rank),
        "height": message(answer=network(h=2)),
        "devices": message(answer=network(devices=4, n=4)),
        "degrees": message(answer=network(n=1, c=3)),
        "no answer": message(answer=[]),
        "other network": message(answer={"devices": 2, "layers": []}),
        "other problem": message(answer={"objective": "strategy", "assignment": [0]}),
    }


def trained(options, rank, optimizer_name, splits):
    """From the beginning: what a training gives."""
    torch.manual_seed(1)
    model = thin_vgg16() if options.model == "vgg16" else Branches()
    data = torch.randn(4, ROWS, 3, SIDE, SIDE)
    target = torch.randint(0, CLASSES, (4, ROWS))
    if rank > 0:
        # What all begin with is rank 0's.
        with torch.no_grad():
            next(model.parameters()).zero_()
    optimizer = made_optimizer(optimizer_name, model)
    prepare(model, optimizer, data[0], target[0], splits or None)
    if options.graph and rank == 0:
        od.save_graph(options.graph)
    losses = []
    for step in range(options.steps):
        if step == options.steps // 2:
            od.gather_model()
        losses.append(float(od.step(data[step % 4], target[step % 4])))
    sizes = [one.numel() for one in model.parameters()]
    od.gather_model()
    return {
        "losses": losses, **od.report(), "sizes": sizes, "drawn": float(torch.rand(())),
        "weights": norms(model.parameters()), "buffers": norms(model.buffers()),
        "states": state_norms(optimizer, model),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--runs", nargs="*", default=["sgd:"])
    parser.add_argument("--model", choices=("vgg16", "branches"), default="vgg16")
    parser.add_argument("--graph")
    parser.add_argument("--socket")
    parser.add_argument("--refusals", type=pathlib.Path)
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    if options.refusals:
        report(refusals(options.refusals, rank), None)
        return
    if options.socket:
        os.environ["OPTILE_SOCKET"] = options.socket
    runs = [trained(options, rank, *run.split(":", 1)) for run in options.runs]
    shown = ""
    if options.socket:
        shown = subprocess.run(["optile", "cluster", "plan"], capture_output=True, text=True,
                               check=True).stdout
    report({"runs": runs, "shown": shown}, None)


if __name__ == "__main__":
    main()
