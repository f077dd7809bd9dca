"""Convolutions, which PyTorch gives to the oneDNN inside it, and a range of PyTorch's own for ITT
around each. Prints what came of them, which is exact, and how many there were.
"""
import argparse

import torch
import torch.profiler.itt


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    numbers = torch.arange(4 * 16 * 24 * 24).reshape(4, 16, 24, 24) % 5 - 2.0
    weights = torch.arange(32 * 16 * 3 * 3).reshape(32, 16, 3, 3) % 3 - 1.0
    found = set()
    with torch.no_grad():
        for step in range(steps):
            torch.profiler.itt.range_push(f"step {step}")
            found.add(torch.nn.functional.conv2d(numbers, weights).abs().sum().item())
            torch.profiler.itt.range_pop()
    torch.profiler.itt.mark("done")
    print(f"{steps} convolutions, results {sorted(found)}, "
          f"ranges {torch.profiler.itt.is_available()}")


if __name__ == "__main__":
    main()
