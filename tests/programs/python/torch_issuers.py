"""Several Python threads that run the same ops at the same time, or strictly in turns. PyTorch lets
go of the interpreter's lock inside an op.

Prints how many passes gave another result than the thread's first one, and how often a thread's own
count was not what it was before. With --wait it stops after half of its passes, says "ready" and
goes on after a line of input.
"""
import argparse
import sys
import threading

import torch
import torch.nn.functional as F


class Issuer:
    def __init__(self, seed):
        source = torch.Generator().manual_seed(seed)
        self.pictures = torch.randn(8, 16, 40, 40, generator=source)
        self.kernels = torch.randn(32, 16, 3, 3, generator=source)
        self.x = torch.randn(256, 256, generator=source)
        self.first = None
        self.wrong = 0
        self.surprises = 0

    def step(self):
        own = torch.get_num_threads()
        with torch.no_grad():
            hidden = F.relu(F.conv2d(self.pictures, self.kernels, padding=1))
            product = F.relu(torch.mm(torch.mm(self.x, self.x), self.x))
        if self.first is None:
            self.first = (hidden, product)
        self.wrong += not (torch.equal(hidden, self.first[0]) and
                           torch.equal(product, self.first[1]))
        self.surprises += torch.get_num_threads() != own


def work(issuer, steps, meet, turns, mine):
    for step in range(steps):
        if turns:
            for turn in range(turns):
                if turn == mine:
                    issuer.step()
                meet.wait()
        else:
            # Together, for as many passes as one thread takes.
            if step % 8 == 0:
                meet.wait()
            issuer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--wait", action="store_true")
    options = parser.parse_args()
    issuers = [Issuer(i) for i in range(options.threads)]
    halves = [threading.Barrier(options.threads + 1), threading.Barrier(options.threads + 1)]

    def whole(issuer, mine, meet):
        turns = options.threads if options.turns else 0
        work(issuer, options.steps // 2, meet, turns, mine)
        for half in halves:
            half.wait()
        work(issuer, options.steps // 2, meet, turns, mine)

    meet = threading.Barrier(options.threads)
    threads = [threading.Thread(target=whole, args=(issuer, i, meet))
               for i, issuer in enumerate(issuers)]
    for thread in threads:
        thread.start()
    halves[0].wait()
    if options.wait:
        print("ready", flush=True)
        sys.stdin.readline()
    halves[1].wait()
    for thread in threads:
        thread.join()
    wrong = sum(issuer.wrong for issuer in issuers)
    surprises = sum(issuer.surprises for issuer in issuers)
    print(f"issuers: {options.threads} threads, {wrong} wrong, {surprises} surprises", flush=True)
    return 0 if wrong == surprises == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
