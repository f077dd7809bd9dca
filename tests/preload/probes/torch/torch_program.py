"""A training step that has everything a bridge must get right: shapes, directions, a recurrent
layer, an op that throws. Runs half of its steps, says so, waits for a line, runs the others, and
prints how often the thread count between steps was not what it was at the start, or the program's
own code was asked."""

import sys

import torch
import torch.nn.functional as F


class Wrapped(torch.Tensor):
    """A tensor that answers by code of the program's, also when it is asked for its sizes."""

    asked = 0

    @staticmethod
    def __new__(cls, data):
        made = torch.Tensor._make_wrapper_subclass(
            cls, data.shape, dtype=data.dtype, dispatch_sizes_strides_policy="sizes")
        made.data_inside = data
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inside = [one.data_inside if isinstance(one, cls) else one for one in args]
        if "size" in str(func):
            cls.asked += 1
            torch.neg(inside[0])  # an op of its own
        return func(*inside, **(kwargs or {}))


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
    torch.neg(Wrapped(x))


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
    surprises += Wrapped.asked
    print(f"threads {own} surprises {surprises}", flush=True)


main()
