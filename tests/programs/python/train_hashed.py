"""Two small trainings whose every bit is told: a convolution net with batch norm, and an LSTM.

Prints the number of threads, and at the end a digest of all parameters and buffers. Sizes are such
that PyTorch uses its threads. Everything is seeded. Knows nothing of optile.
"""
import argparse
import hashlib
import sys

import torch
from torch import nn


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 10))

    def forward(self, x):
        return self.net(x)

    @staticmethod
    def inputs():
        return torch.randn(16, 3, 40, 40), torch.randint(0, 10, (16,))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(500, 96)
        self.lstm = nn.LSTM(96, 128, 2)
        self.norm = nn.LayerNorm(128)
        self.out = nn.Linear(128, 500)

    def forward(self, x):
        # As a sum of large things, so that element-wise ops use threads as well.
        hidden = self.norm(self.lstm(self.words(x))[0])
        return self.out(hidden).flatten(0, 1).mul(0.5).add(0.25)

    @staticmethod
    def inputs():
        words = torch.randint(0, 500, (13, 24))
        return words[:-1], words[1:].flatten()


MODELS = {"convolutions": Convolutions, "lstm": Recurrent}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    torch.manual_seed(1)
    kind = MODELS[options.model]
    net = kind()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    given, wanted = kind.inputs()
    print("threads", torch.get_num_threads(), flush=True)
    for _ in range(options.steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(given), wanted).backward()
        optimizer.step()
    digest = hashlib.sha256()
    for tensor in net.state_dict().values():
        digest.update(tensor.detach().numpy().tobytes())
    print("parameters", digest.hexdigest())
    return 0


if __name__ == "__main__":
    sys.exit(main())
