"""A numpy program that says itself where its ops and steps are: a large product and many small ones
take turns. The numbers are small integers, so that their sums are exact at any width.

Needs the module `optile` on its path. Prints a checksum; with --without it announces nothing.
"""
import argparse
import contextlib

import numpy

import optile


def annotated(options, name, shape):
    return contextlib.nullcontext() if options.without else optile.op(name, shape)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--without", action="store_true")
    options = parser.parse_args()
    numbers = numpy.random.default_rng(1)
    large = numbers.integers(-2, 3, (384, 384)).astype(numpy.float32)
    small = numbers.integers(-2, 3, (48, 48)).astype(numpy.float32)
    total = 0.0
    for _ in range(options.steps):
        with annotated(options, "large product", large.shape):
            total += float((large @ large).sum())
        with annotated(options, "small products", (20, *small.shape)):
            for _ in range(20):
                total += float((small @ small).sum())
        if not options.without:
            optile.step()
    print(f"total {total:.0f}")


if __name__ == "__main__":
    main()
