"""Looks at the thread count before and after every op, ops that fail included, and after an op that
is left through an exception thrown in the middle of a backward pass.

Prints how many looks there were and how many saw another count than the first one.
"""
import argparse
import sys

import torch
import torch.nn.functional as F


class Watch:
    def __init__(self):
        self.expected = torch.get_num_threads()
        self.looks = 0
        self.surprises = 0

    def look(self):
        self.looks += 1
        if torch.get_num_threads() != self.expected:
            self.surprises += 1

    def around(self, op, *arguments):
        self.look()
        result = op(*arguments)
        self.look()
        return result


class Refusing(torch.autograd.Function):
    """Its backward throws from inside the engine."""

    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        raise ValueError("refused")


def failing_ops(watch, x):
    for op in (lambda: torch.mm(x, x[:3]), lambda: F.conv2d(x, x), lambda: x.reshape(7, 7),
               lambda: Refusing.apply(x.clone().requires_grad_()).sum().backward()):
        watch.look()
        try:
            op()
        except (RuntimeError, ValueError):
            watch.look()
        else:
            sys.exit("an op that must fail did not")


def step(watch, pictures, kernels, x):
    hidden = watch.around(F.conv2d, pictures, kernels)
    hidden = watch.around(torch.relu, hidden)
    watch.around(torch.mm, x, x)
    watch.around(torch.softmax, x, 1)
    watch.around(lambda: hidden.sum().backward())
    kernels.grad = None
    failing_ops(watch, x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    pictures = torch.randn(16, 8, 24, 24)
    kernels = torch.randn(16, 8, 3, 3, requires_grad=True)
    x = torch.randn(160, 160)
    watch = Watch()
    for _ in range(options.steps):
        step(watch, pictures, kernels, x)
    print(f"widths: {watch.looks} looks, {watch.surprises} surprises, threads {watch.expected}")
    return 0 if watch.surprises == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
