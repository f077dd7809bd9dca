"""A small model that Inductor compiles, in training or only forward. Knows nothing of optile.

Prints whether the results are those of the plain model, and how long a step took.
"""
import argparse
import statistics
import sys
import time

import torch
from torch import nn


class Block(nn.Module):
    """A product and what Inductor makes one kernel of."""

    def __init__(self, wide):
        super().__init__()
        self.up = nn.Linear(wide, 2 * wide)
        self.down = nn.Linear(2 * wide, wide)
        self.norm = nn.LayerNorm(wide)

    def forward(self, x):
        hidden = nn.functional.gelu(self.up(x)) * torch.sigmoid(x.mean())
        return self.norm(x + torch.tanh(self.down(hidden)))


class Recurrent(nn.Module):
    """The cell of an LSTM, written out, over a sequence."""

    def __init__(self, wide):
        super().__init__()
        self.inner = nn.Linear(2 * wide, 4 * wide)
        self.wide = wide

    def forward(self, x):
        state = cell = x.new_zeros(x.shape[1], self.wide)
        for word in x:
            gates = self.inner(torch.cat((word, state), 1)).chunk(4, 1)
            cell = torch.sigmoid(gates[0]) * cell + torch.sigmoid(gates[1]) * torch.tanh(gates[2])
            state = torch.sigmoid(gates[3]) * torch.tanh(cell)
        return state


MODELS = {"mlp": (lambda: nn.Sequential(Block(384), Block(384)), (512, 384)),
          "lstm": (lambda: Recurrent(256), (8, 64, 256))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("model", choices=sorted(MODELS), nargs="?", default="mlp")
    parser.add_argument("gradients", choices=("training", "forward"), nargs="?",
                        default="training")
    options = parser.parse_args()
    torch.manual_seed(1)
    make, shape = MODELS[options.model]
    trains = options.gradients == "training"
    model = make()
    inputs = torch.randn(shape)
    wanted = model(inputs).detach()
    compiled = torch.compile(model, backend="inductor")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    wrong = 0
    seconds = []
    torch.set_grad_enabled(trains)
    for _ in range(options.steps):
        begin = time.perf_counter()
        result = compiled(inputs)
        if trains:
            optimizer.zero_grad()
            result.square().sum().backward()
            optimizer.step()
        seconds.append(time.perf_counter() - begin)
        wrong += not torch.allclose(result, wanted, rtol=1e-3, atol=1e-4)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    print(f"inductor: {graphs} graphs, {wrong} wrong, threads {torch.get_num_threads()}")
    print(f"median step {1e3 * statistics.median(seconds):.3f} ms", file=sys.stderr)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
