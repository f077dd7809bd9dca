"""Convolutions, which PyTorch gives to the oneDNN inside it, and a range of PyTorch's own for ITT
around each. Prints what came of them, which is exact; how many there were goes to stderr.
"""
import argparse
import sys
import time

import torch
import torch.profiler.itt


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    end = time.monotonic() + parser.parse_args().seconds
    numbers = torch.arange(4 * 16 * 24 * 24).reshape(4, 16, 24, 24) % 5 - 2.0
    weights = torch.arange(32 * 16 * 3 * 3).reshape(32, 16, 3, 3) % 3 - 1.0
    found = set()
    with torch.no_grad():
        steps = 0
        while time.monotonic() < end:
            steps += 1
            torch.profiler.itt.range_push(f"step {steps}")
            found.add(torch.nn.functional.conv2d(numbers, weights).abs().sum().item())
            torch.profiler.itt.range_pop()
    torch.profiler.itt.mark("done")
    print(f"results {sorted(found)}, ranges {torch.profiler.itt.is_available()}")
    print(f"{steps} convolutions", file=sys.stderr)


if __name__ == "__main__":
    main()
