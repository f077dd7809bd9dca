#!/usr/bin/python3
"""One kind of work in PyTorch for so many seconds, step after step: for pairs under optile, which
steers ops and not bare OpenMP regions. Writes step ends, in seconds of the monotonic clock.

    torch_ops.py stream|gemm|gaps|pauses SECONDS REPORT

stream: sums of arrays far beyond any cache. gemm: products of matrices that fit into one. gaps:
such a product, then as long on one thread, so that most of its cores are idle half of the time.
pauses: a few products, then nothing for a while, as a program does that waits for its next input.
"""

import json
import sys
import time
from typing import Callable, Dict

import torch

LARGE = 8 * 1024 * 1024  # floats
SIDE = 512
PRODUCTS = 12  # in a step
FEW = 3
PAUSE_SECONDS = 0.03  # not long enough to lend its cores
SERIAL_ROUNDS = 60_000  # of a loop that is about as long


def stream() -> Callable[[], None]:
    a, b, c = (torch.ones(LARGE) for _ in range(3))

    def step() -> None:
        torch.mul(a, 0.5, out=c)
        torch.add(a, b, out=c)
        torch.sub(b, c, out=a)

    return step


def products(count: int = PRODUCTS) -> Callable[[], None]:
    a, b = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    c = torch.empty(SIDE, SIDE)

    def step() -> None:
        for _ in range(count):
            torch.mm(a, b, out=c)
        torch.relu(c)

    return step


def gaps() -> Callable[[], None]:
    compute = products()

    def step() -> None:
        compute()
        total = 0
        for i in range(SERIAL_ROUNDS):
            total += i

    return step


def pauses() -> Callable[[], None]:
    compute = products(FEW)

    def step() -> None:
        compute()
        time.sleep(PAUSE_SECONDS)

    return step


KINDS: Dict[str, Callable[[], Callable[[], None]]] = {
    "stream": stream, "gemm": products, "gaps": gaps, "pauses": pauses,
}  # fmt: skip


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.stderr.write(__doc__ or "")
        return 2
    step = KINDS[sys.argv[1]]()
    ends = []
    with torch.no_grad():
        limit = time.monotonic() + float(sys.argv[2])
        while time.monotonic() < limit:
            step()
            ends.append(time.monotonic())
    with open(sys.argv[3], "w", encoding="utf-8") as report:
        json.dump({"step_ends": ends}, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
