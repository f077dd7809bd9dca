"""A training step that has everything a bridge must get right: shapes, directions, a recurrent
layer, an op that throws. Runs half of its steps, says so, waits for a line, runs the others, and
prints how often the thread count between steps was not what it was at the start."""

import sys

import torch
import torch.nn.functional as F


def refuse(x):
    try:
        torch.mm(x, x[:3])
    except RuntimeError:
        return
    sys.exit("an op that must fail did not")


def step(pictures, kernels, layer, words, x):
    F.relu(F.conv2d(pictures, kernels)).sum().backward()
    kernels.grad = None
    with torch.no_grad():
        layer(words)
    refuse(x)


def main():
    torch.manual_seed(1)
    own = torch.get_num_threads()
    pictures = torch.randn(8, 4, 16, 16)
    kernels = torch.randn(6, 4, 3, 3, requires_grad=True)
    layer = torch.nn.LSTM(12, 20)
    words = torch.randn(5, 7, 12)
    x = torch.randn(32, 32)
    surprises = 0
    for i in range(24):
        if i == 12:
            print("ready", flush=True)
            sys.stdin.readline()
        step(pictures, kernels, layer, words, x)
        surprises += torch.get_num_threads() != own
    print(f"threads {own} surprises {surprises}", flush=True)


main()
