"""A model behind torch.compile, with a backend that counts how often it is asked to compile: a
guard that trips (on the number of threads, say) asks again. Knows nothing of optile.

Prints how often that was, and whether the results are those of the plain model.
"""
import argparse
import sys

import torch
from torch import nn


class Counting:
    """Runs the graph as it is."""

    def __init__(self):
        self.asked = 0

    def __call__(self, graph, inputs):
        self.asked += 1
        return graph.forward


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--backend", choices=("count", "inductor"), default="count")
    options = parser.parse_args()
    torch.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3600, 64),
                        nn.ReLU(), nn.Linear(64, 10))
    pictures = torch.randn(16, 3, 17, 17)
    counting = Counting()
    compiled = torch.compile(net, backend=counting if options.backend == "count" else "inductor")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    wanted = net(pictures).detach()
    wrong = 0
    for _ in range(options.steps):
        optimizer.zero_grad()
        result = compiled(pictures)
        result.square().sum().backward()
        optimizer.step()
        wrong += not torch.allclose(result, wanted, rtol=1e-4, atol=1e-5)
    asked = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    print(f"compiled: {asked} graphs, {wrong} wrong, threads {torch.get_num_threads()}")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
