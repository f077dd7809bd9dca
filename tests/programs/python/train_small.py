"""A small training program, the way people write them: a convolution net on generated pictures.

Prints a loss every ten steps and at the end a digest of the weights. Everything is seeded, so two
runs at the same widths print the same. Knows nothing of optile.
"""
import argparse
import hashlib
import sys

import torch
from torch import nn


def build_net():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10))


def digest_of(net):
    state = hashlib.sha256()
    for tensor in net.state_dict().values():
        state.update(tensor.detach().numpy().tobytes())
    return state.hexdigest()[:16]


def pause():
    """Lets whoever watches act between two steps: says so, and goes on at the next input line."""
    print("paused", flush=True)
    sys.stdin.readline()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, help="torch.set_num_threads() before anything else")
    parser.add_argument("--pause-at", type=int, action="append", default=[])
    parser.add_argument("--exit-code", type=int, default=0)
    parser.add_argument("--resident-mb", type=int, default=0, help="memory that is merely held")
    options = parser.parse_args()
    held = b"x" * (options.resident_mb << 20)
    if options.threads:
        torch.set_num_threads(options.threads)

    torch.manual_seed(1)
    net = build_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    pictures = torch.randn(32, 3, 32, 32)
    labels = torch.randint(0, 10, (32,))
    print("threads", torch.get_num_threads(), flush=True)
    for step in range(1, options.steps + 1):
        optimizer.zero_grad()
        loss = criterion(net(pictures), labels)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.9f}", flush=True)
        if step in options.pause_at:
            pause()
    print("weights", digest_of(net), flush=True)
    del held
    return options.exit_code


if __name__ == "__main__":
    sys.exit(main())
