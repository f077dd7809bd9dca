"""Several threads that each run a model's forward pass over and over, as a server's pool does.

PyTorch lets go of the interpreter's lock inside an op, so the threads' ops run at the same time.
Each thread makes the same passes on data of its own. Prints one JSON object: passes a second of all
threads together and in relation to processor time, how many each made, and a sum over the results
that says whether two runs computed the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from typing import Callable, Dict, List

import torch
import torch.nn.functional as F

Pass = Callable[[], torch.Tensor]


def convolution(seed: int) -> Pass:
    """Three layers on pictures of CIFAR's size."""
    source = torch.Generator().manual_seed(seed)
    pictures = torch.randn(16, 16, 32, 32, generator=source)
    first = torch.randn(32, 16, 3, 3, generator=source) / 12
    second = torch.randn(32, 32, 3, 3, generator=source) / 17
    third = torch.randn(64, 32, 3, 3, generator=source) / 17

    def one() -> torch.Tensor:
        hidden = F.relu(F.conv2d(pictures, first, padding=1))
        hidden = F.relu(F.conv2d(hidden, second, padding=1))
        return F.conv2d(hidden, third, stride=2).mean(dim=(2, 3))

    return one


def matmul(seed: int) -> Pass:
    """A block of four products."""
    source = torch.Generator().manual_seed(seed)
    rows = torch.randn(256, 384, generator=source)
    wide = torch.randn(384, 768, generator=source) / 20
    narrow = torch.randn(768, 384, generator=source) / 28

    def one() -> torch.Tensor:
        hidden = rows
        for _ in range(2):
            hidden = torch.tanh(torch.mm(F.relu(torch.mm(hidden, wide)), narrow))
        return hidden

    return one


KINDS: Dict[str, Callable[[int], Pass]] = {"convolution": convolution, "matmul": matmul}


class Worker:
    def __init__(self, kind: str, seed: int) -> None:
        self.one = KINDS[kind](seed)
        self.passes = 0
        self.total = 0.0

    def warm(self, passes: int) -> None:
        with torch.no_grad():
            for _ in range(passes):
                self.total = float(self.one().double().sum())

    def work(self, start: threading.Barrier, stop: threading.Event) -> None:
        start.wait()
        with torch.no_grad():
            while not stop.is_set():
                self.one()
                self.passes += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds before the timed ones")
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    workers: List[Worker] = [Worker(options.kind, i) for i in range(options.threads)]
    for worker in workers:
        worker.warm(2)
    start, stop = threading.Barrier(options.threads + 1), threading.Event()
    threads = [threading.Thread(target=worker.work, args=(start, stop)) for worker in workers]
    for thread in threads:
        thread.start()
    start.wait()
    time.sleep(options.warmup)
    before = [worker.passes for worker in workers]
    begin, used = time.monotonic(), time.process_time()
    time.sleep(options.seconds)
    made = [worker.passes - earlier for worker, earlier in zip(workers, before)]
    passed, used = time.monotonic() - begin, time.process_time() - used
    stop.set()
    for thread in threads:
        thread.join()
    print(json.dumps({"passes_per_second": sum(made) / passed, "passes": made,
                      "passes_per_cpu_second": sum(made) / used,
                      "sum": sum(worker.total for worker in workers)}))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
