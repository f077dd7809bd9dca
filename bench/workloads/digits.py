#!/usr/bin/python3
"""A small convolutional network trained on real data: the handwritten digits of scikit-learn.

1797 grey images of 8x8 pixels; a fifth is held out. The report has the training loss of the last
step and, under `figures`, the accuracy on the held-out images. The first step of an epoch draws a
new order; nothing is evaluated inside the timed steps.
"""

import sys
from typing import Dict

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

import training

HELD_OUT = 0.2


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128 * 2 * 2, 128),
        nn.ReLU(inplace=True),
        nn.Linear(128, 10),
    )


def make(options: training.Options) -> training.Trainer:
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(digits.target, dtype=torch.int64)
    source = torch.Generator().manual_seed(options.seed)
    shuffled = torch.randperm(len(images), generator=source)
    held_out = shuffled[: int(len(images) * HELD_OUT)]
    used = shuffled[len(held_out) :]
    batches = len(used) // options.batch
    if batches == 0:
        sys.exit(f"digits: --batch {options.batch} is more than the {len(used)} training images")

    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=True)
    order = used

    def step(index: int) -> float:
        nonlocal order
        position = index % batches
        if position == 0:
            order = used[torch.randperm(len(used), generator=source)]
        chosen = order[position * options.batch : (position + 1) * options.batch]
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        return loss.item()

    def final_figures() -> Dict[str, float]:
        model.eval()
        with torch.no_grad():
            right = model(images[held_out]).argmax(1) == labels[held_out]
        return {"held_out_accuracy": right.float().mean().item()}

    return training.StepTrainer(step, final_figures)


if __name__ == "__main__":
    sys.exit(training.main("digits", 64, make))
