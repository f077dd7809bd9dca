"""A training loop that profiles some of its own steps, and holds ops that fail inside. Prints the
names of all events: whoever else watches the ops, a user's profiler sees all of them.
"""
import sys

import torch
import torch.nn.functional as F
from torch_widths import Refusing


def step(optimizer, kernels, pictures, x):
    optimizer.zero_grad()
    hidden = torch.relu(F.conv2d(pictures, kernels))
    F.linear(x, x).softmax(1)
    F.cross_entropy(hidden.mean((2, 3)), torch.zeros(len(hidden), dtype=torch.long)).backward()
    optimizer.step()
    for op in (lambda: torch.mm(x, x[:3]),
               lambda: Refusing.apply(x.clone().requires_grad_()).sum().backward()):
        try:
            op()
        except (RuntimeError, ValueError):
            continue
        sys.exit("an op that must fail did not")


def main():
    torch.manual_seed(1)
    kernels = torch.randn(8, 4, 3, 3, requires_grad=True)
    optimizer = torch.optim.SGD([kernels], lr=0.1)
    arguments = (optimizer, kernels, torch.randn(4, 4, 12, 12), torch.randn(32, 32))
    # All through the run, since others watch in other ways as time goes by. Only which events there
    # are: PyTorch 1.13 now and then counts one twice, alone or overlapping.
    for _ in range(60):
        for _ in range(4):
            step(*arguments)
        with torch.autograd.profiler.profile() as profile:
            step(*arguments)
        print(*sorted({event.name for event in profile.function_events}), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
