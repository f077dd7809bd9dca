#!/usr/bin/python3
"""Inception-v3 on 299x299 images, with its auxiliary classifier and synthetic data.

The network of Szegedy et al., "Rethinking the Inception Architecture for Computer Vision" (2015),
table 1 and figures 5 to 7, in the form its authors published: every convolution is followed by
batch normalisation and a rectifier.
"""

import sys
from typing import Sequence, Tuple, Union

import torch
import torch.nn.functional as F
from torch import nn

import training

CLASSES = 1000
BATCHES = 2  # of synthetic data, used in turn
AUXILIARY_WEIGHT = 0.4

Size = Union[int, Tuple[int, int]]


class Unit(nn.Sequential):
    """Convolution, batch normalisation, rectifier; `same` keeps the size of the image."""

    def __init__(self, inputs: int, outputs: int, kernel: Size, stride: int = 1, same: bool = True):
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (height // 2, width // 2) if same else (0, 0)
        super().__init__(
            nn.Conv2d(inputs, outputs, (height, width), stride, padding, bias=False),
            nn.BatchNorm2d(outputs, eps=1e-3),
            nn.ReLU(inplace=True),
        )


class Branches(nn.Module):
    """Modules that see the same input, their outputs side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def chain(inputs: int, *layers: Tuple[int, Size]) -> nn.Sequential:
    """Units of the given (outputs, kernel), one after the other."""
    units = []
    for outputs, kernel in layers:
        units.append(Unit(inputs, outputs, kernel))
        inputs = outputs
    return nn.Sequential(*units)


def pooled(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), Unit(inputs, outputs, 1))


def block_35(inputs: int, pool: int) -> nn.Module:
    """Figure 5, on 35x35."""
    return Branches(
        Unit(inputs, 64, 1),
        chain(inputs, (48, 1), (64, 5)),
        chain(inputs, (64, 1), (96, 3), (96, 3)),
        pooled(inputs, pool),
    )


def reduce_35(inputs: int) -> nn.Module:
    return Branches(
        Unit(inputs, 384, 3, 2, same=False),
        nn.Sequential(chain(inputs, (64, 1), (96, 3)), Unit(96, 96, 3, 2, same=False)),
        nn.MaxPool2d(3, 2),
    )


def block_17(inputs: int, width: int) -> nn.Module:
    """Figure 6 with n = 7, on 17x17."""
    row: Size = (1, 7)
    column: Size = (7, 1)
    return Branches(
        Unit(inputs, 192, 1),
        chain(inputs, (width, 1), (width, row), (192, column)),
        chain(inputs, (width, 1), (width, column), (width, row), (width, column), (192, row)),
        pooled(inputs, 192),
    )


def reduce_17(inputs: int) -> nn.Module:
    return Branches(
        nn.Sequential(Unit(inputs, 192, 1), Unit(192, 320, 3, 2, same=False)),
        nn.Sequential(
            chain(inputs, (192, 1), (192, (1, 7)), (192, (7, 1))),
            Unit(192, 192, 3, 2, same=False),
        ),
        nn.MaxPool2d(3, 2),
    )


def block_8(inputs: int) -> nn.Module:
    """Figure 7, on 8x8: the wide branches end in a row and a column side by side."""

    def ends() -> nn.Module:
        return Branches(Unit(384, 384, (1, 3)), Unit(384, 384, (3, 1)))

    return Branches(
        Unit(inputs, 320, 1),
        nn.Sequential(Unit(inputs, 384, 1), ends()),
        nn.Sequential(chain(inputs, (448, 1), (384, 3)), ends()),
        pooled(inputs, 192),
    )


def row_of(blocks: Sequence[nn.Module]) -> nn.Sequential:
    return nn.Sequential(*blocks)


class InceptionV3(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = row_of(
            [
                Unit(3, 32, 3, 2, same=False),
                Unit(32, 32, 3, same=False),
                Unit(32, 64, 3),
                nn.MaxPool2d(3, 2),
                Unit(64, 80, 1),
                Unit(80, 192, 3, same=False),
                nn.MaxPool2d(3, 2),
            ]
        )
        self.grid_35 = row_of([block_35(192, 32), block_35(256, 64), block_35(288, 64)])
        self.grid_17 = row_of(
            [reduce_35(288)] + [block_17(768, width) for width in (128, 160, 160, 192)]
        )
        self.grid_8 = row_of([reduce_17(768), block_8(1280), block_8(2048)])
        self.auxiliary = nn.Sequential(
            nn.AvgPool2d(5, 3),
            Unit(768, 128, 1),
            Unit(128, 768, 5, same=False),
            nn.Flatten(),
            nn.Linear(768, CLASSES),
        )
        self.dropout = nn.Dropout(0.5)
        self.classify = nn.Linear(2048, CLASSES)

    def forward(self, x: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        middle = self.grid_17(self.grid_35(self.stem(x)))
        last = F.adaptive_avg_pool2d(self.grid_8(middle), 1)
        scores = self.classify(self.dropout(torch.flatten(last, 1)))
        return scores, self.auxiliary(middle)


def make(options: training.Options) -> training.Trainer:
    model = InceptionV3()
    run = training.as_asked(options, model)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.01, momentum=0.9, weight_decay=4e-5, foreach=True
    )
    source = torch.Generator().manual_seed(options.seed)
    images = torch.randn(BATCHES, options.batch, 3, 299, 299, generator=source)
    labels = torch.randint(CLASSES, (BATCHES, options.batch), generator=source)

    def step(index: int) -> float:
        optimizer.zero_grad(set_to_none=True)
        scores, auxiliary = run(images[index % BATCHES])
        target = labels[index % BATCHES]
        loss = F.cross_entropy(scores, target)
        loss = loss + AUXILIARY_WEIGHT * F.cross_entropy(auxiliary, target)
        loss.backward()
        optimizer.step()
        return loss.item()

    return training.StepTrainer(step)


if __name__ == "__main__":
    sys.exit(training.main("inception_v3", 16, make))
