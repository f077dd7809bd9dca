#!/usr/bin/python3
"""ResNet-50 on images of CIFAR's shape (3x32x32), with synthetic data.

The network is that of He et al., "Deep Residual Learning for Image Recognition" (2015), section
4.1 table 1 with the stem of section 4.2 for small images: a 3x3 convolution and no pooling.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import training

CLASSES = 10
BATCHES = 4  # of synthetic data, used in turn
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, first stride
EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1, each with batch normalisation, around a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.reduce = nn.Conv2d(inputs, width, 1, bias=False)
        self.reduce_norm = nn.BatchNorm2d(width)
        self.middle = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.middle_norm = nn.BatchNorm2d(width)
        self.expand = nn.Conv2d(width, outputs, 1, bias=False)
        self.expand_norm = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.reduce_norm(self.reduce(x)), inplace=True)
        y = F.relu(self.middle_norm(self.middle(y)), inplace=True)
        y = self.expand_norm(self.expand(y))
        return F.relu(y + self.shortcut(x), inplace=True)


class ResNet50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        )
        blocks = []
        channels = 64
        for width, count, stride in STAGES:
            for index in range(count):
                blocks.append(Bottleneck(channels, width, stride if index == 0 else 1))
                channels = width * EXPANSION
        self.blocks = nn.Sequential(*blocks)
        self.classify = nn.Linear(channels, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.blocks(self.stem(x))
        return self.classify(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1))


def make(options: training.Options) -> training.Trainer:
    model = ResNet50()
    run = training.as_asked(options, model)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, foreach=True
    )
    generator = torch.Generator().manual_seed(options.seed)
    images = torch.randn(BATCHES, options.batch, 3, 32, 32, generator=generator)
    labels = torch.randint(CLASSES, (BATCHES, options.batch), generator=generator)

    def step(index: int) -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(run(images[index % BATCHES]), labels[index % BATCHES])
        loss.backward()
        optimizer.step()
        return loss.item()

    return training.StepTrainer(step)


if __name__ == "__main__":
    sys.exit(training.main("resnet50", 64, make))
