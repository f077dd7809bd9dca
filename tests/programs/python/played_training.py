"""What trainings in tests have in common; computing alone moves their played clock."""
import json
import os
import signal
import sys

import torch
from torch import nn

ROW_SECONDS = 0.001


class PlayedClock:
    def __init__(self):
        self.factor = 1.0
        self.now = 0.0

    def __call__(self):
        return self.now

    def compute(self, rows, passes):
        self.now += ROW_SECONDS * rows * passes * self.factor


class Timed(torch.autograd.Function):
    """Computes nothing, and takes so long for each row, backward twice as long."""

    @staticmethod
    def forward(ctx, x, clock):
        ctx.clock = clock
        clock.compute(len(x), 1)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        ctx.clock.compute(len(gradient), 2)
        return gradient, None


class Counting(nn.Module):
    """Changes a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows_seen", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.rows_seen += len(x)
        return x


def made_optimizer(name, model):
    parameters = list(model.parameters())
    half = len(parameters) // 2
    groups = [{"params": parameters[:half]}, {"params": parameters[half:], "weight_decay": 0.01}]
    if name == "adam":
        return torch.optim.Adam(groups, lr=0.01)
    return torch.optim.SGD(groups, lr=0.05, momentum=0.9)


def norms(tensors):
    return [float(one.detach().double().norm()) for one in tensors]


def state_norms(optimizer, model):
    """Of what the optimizer keeps of each parameter."""
    kept = (optimizer.state.get(one, {}) for one in model.parameters())
    return [norms(state[name] for name in sorted(state)) for state in kept]


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def wait_at(wait_step, number):
    """Before that step it goes on when it has read a line."""
    if number == wait_step:
        print("waits", flush=True)
        sys.stdin.readline()


def report(what, output):
    """As JSON, to a file of this rank where there is to be one."""
    text = json.dumps(what)
    if output is None:
        print(text, flush=True)
    else:
        output.with_suffix("." + os.environ.get("RANK", "0")).write_text(text)
