"""Inception-v3 (Szegedy et al., Rethinking the Inception Architecture for Computer Vision, table 1,
figures 5 to 7 and 10), without its auxiliary classifier, and blocks of GoogLeNet's kind."""

from __future__ import annotations

from typing import List, Sequence, Tuple, Union

import torch
from torch import nn

# Channels, and rows and columns of the kernel.
Layer = Tuple[int, Union[int, Tuple[int, int]]]


def convolution(
    inputs: int, outputs: int, size: Union[int, Tuple[int, int]], stride: int = 1,
    padded: bool = True,
) -> nn.Module:  # fmt: skip
    rows, columns = (size, size) if isinstance(size, int) else size
    padding = (rows // 2, columns // 2) if padded else (0, 0)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, (rows, columns), stride, padding, bias=False),
        nn.BatchNorm2d(outputs, eps=0.001),
        nn.ReLU(inplace=True),
    )


def chain(inputs: int, layers: Sequence[Layer], stride: int = 1) -> nn.Sequential:
    """`stride`: of the last one, which is not padded then."""
    made: List[nn.Module] = []
    for number, (outputs, size) in enumerate(layers):
        last = number == len(layers) - 1 and stride > 1
        made.append(convolution(inputs, outputs, size, stride if last else 1, not last))
        inputs = outputs
    return nn.Sequential(*made)


class Branches(nn.Module):
    """Side by side, their channels behind one another."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def pooled(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), convolution(inputs, outputs, 1))


def block(channels: int) -> nn.Module:
    """Of GoogLeNet's kind: 1x1, 3x3, two 3x3 and pooling."""
    part = channels // 4
    return Branches(
        chain(channels, [(part, 1)]),
        chain(channels, [(part, 1), (part, 3)]),
        chain(channels, [(part, 1), (part, 3), (part, 3)]),
        pooled(channels, part),
    )


def blocks(count: int, channels: int, classes: int) -> nn.Module:
    return nn.Sequential(
        convolution(3, channels, 3), *(block(channels) for _ in range(count)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes),
    )  # fmt: skip


def factorised_5x5(inputs: int, outputs: int) -> nn.Module:
    return Branches(
        chain(inputs, [(64, 1)]),
        chain(inputs, [(48, 1), (64, 5)]),
        chain(inputs, [(64, 1), (96, 3), (96, 3)]),
        pooled(inputs, outputs),
    )


def factorised_7x7(inner: int) -> nn.Module:
    return Branches(
        chain(768, [(192, 1)]),
        chain(768, [(inner, 1), (inner, (1, 7)), (192, (7, 1))]),
        chain(768, [(inner, 1), (inner, (7, 1)), (inner, (1, 7)), (inner, (7, 1)), (192, (1, 7))]),
        pooled(768, 192),
    )


def widened(inputs: int) -> nn.Module:
    def fork(channels: int) -> nn.Module:
        return Branches(
            convolution(channels, 384, (1, 3)), convolution(channels, 384, (3, 1))
        )

    return Branches(
        chain(inputs, [(320, 1)]),
        nn.Sequential(convolution(inputs, 384, 1), fork(384)),
        nn.Sequential(chain(inputs, [(448, 1), (384, 3)]), fork(384)),
        pooled(inputs, 192),
    )


def inception_v3(classes: int) -> nn.Module:
    return nn.Sequential(
        convolution(3, 32, 3, 2, False),
        convolution(32, 32, 3, 1, False),
        convolution(32, 64, 3),
        nn.MaxPool2d(3, 2),
        convolution(64, 80, 1),
        convolution(80, 192, 3, 1, False),
        nn.MaxPool2d(3, 2),
        factorised_5x5(192, 32),
        factorised_5x5(256, 64),
        factorised_5x5(288, 64),
        Branches(
            chain(288, [(384, 3)], 2),
            chain(288, [(64, 1), (96, 3), (96, 3)], 2),
            nn.MaxPool2d(3, 2),
        ),
        factorised_7x7(128),
        factorised_7x7(160),
        factorised_7x7(160),
        factorised_7x7(192),
        Branches(
            chain(768, [(192, 1), (320, 3)], 2),
            chain(768, [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3)], 2),
            nn.MaxPool2d(3, 2),
        ),
        widened(1280),
        widened(2048),
        nn.AdaptiveAvgPool2d(1),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(2048, classes),
    )
