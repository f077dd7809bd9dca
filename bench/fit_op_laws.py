#!/usr/bin/python3
"""Fits the op laws of the four networks to the paper's Tables II and VI, and to nothing else.

Writes perfmodel/networks/fitted_laws.cc; docs/results/curves.md explains law and choices.
The other tables and figures of the paper are predicted from the result (bench/paper_figures.py);
no number of theirs may occur in this file.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "perfmodel" / "networks" / "fitted_laws.cc"
WIDTH = 68  # of the recommendation, at which both tables give times
SPARED = 2  # best widths from here to all cores tell only a bound

# Table II: op, seconds of 1000 runs at 68 threads, best width, gain of it over 68 threads.
TABLE_II = (
    ("Conv2DBackpropFilter", 7.2, 26, 0.173),
    ("Conv2DBackpropFilter", 11.1, 42, 0.102),
    ("Conv2DBackpropFilter", 20.3, 68, 0.0),
    ("Conv2DBackpropInput", 5.8, 36, 0.098),
    ("Conv2DBackpropInput", 8.7, 56, 0.023),
    ("Conv2DBackpropInput", 19.6, 68, 0.0),
    ("Conv2D", 4.7, 45, 0.111),
    ("Conv2D", 7.4, 63, 0.035),
    ("Conv2D", 14.8, 66, 0.020),
)
# Table VI: milliseconds a step at 68 threads, and the printed gain of strategies 1 and 2.
TABLE_VI: Mapping[str, Mapping[str, Tuple[float, float]]] = {
    "resnet50": {
        "Conv2DBackpropFilter": (158, 1.08),
        "InputConversion": (131, 1.07),
        "Tile": (107, 1.02),
        "Mul": (103, 1.03),
        "ToTf": (79, 1.01),
    },
    "dcgan": {
        "Conv2DBackpropInput": (164, 1.14),
        "Conv2DBackpropFilter": (133, 1.21),
        "ApplyAdam": (84, 1.17),
        "BiasAddGrad": (26, 1.17),
        "FusedBatchNorm": (15, 1.03),
    },
    "inception_v3": {
        "AvgPool": (759, 1.04),
        "Tile": (539, 1.01),
        "Conv2DBackpropFilter": (479, 1.01),
        "MaxPooling": (455, 1.08),
        "InputConversion": (416, 1.01),
    },
    "lstm": {
        "SparseSoftmaxCross": (11.71, 1.34),
        "BiasAddGrad": (2.03, 1.03),
        "Mul": (1.36, 1.25),
        "AddN": (1.02, 1.17),
        "MatMul": (0.95, 1.02),
    },
}
COUNTED_IN_FLOPS = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul")
CONVOLUTIONS = COUNTED_IN_FLOPS[:3]
# Ops with a kernel in MKL-DNN (framework_ops.cc: has_mkl_kernel); the others are Eigen's.
MKL = frozenset(
    """Add AddN AvgPool AvgPoolGrad ConcatV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput
    FusedBatchNorm FusedBatchNormGrad InputConversion MatMul MaxPoolGrad MaxPooling Maximum Mul
    Relu ReluGrad SquaredDifference Sub ToTf""".split()
)
# What any op costs the framework. Table VI bounds it: LSTM's 518 ToTf are not among its five.
DISPATCH = 1.5e-6
NEVER_LESS = 0.1  # of an op's time is work and not dispatch, however little the table leaves


REFERENCE = 6e-3  # fitted_laws.h: kReferenceSeconds


@dataclass(frozen=True)
class Law:
    serial: float
    parallel: float
    per_thread: float

    def at(self, width: int) -> float:
        return self.serial + self.parallel / width + self.per_thread * width

    def best(self) -> int:
        return min(range(1, WIDTH + 1), key=self.at)


@dataclass(frozen=True)
class BestWidth:
    """How an instance's best width follows from its time at 68 threads."""

    at_reference: float
    power: float
    widest: float = float(WIDTH)

    def of(self, at_68: float) -> float:
        return min(max(self.at_reference * (at_68 / REFERENCE) ** self.power, 1.0), self.widest)


@dataclass(frozen=True)
class Fit:
    op: str
    per_unit: float
    serial: float
    best: BestWidth
    source: str
    seconds: float
    slowest: float
    gain: float


def law(at_68: float, serial_share: float, best: float) -> Law:
    """fitted_law() of perfmodel/networks/fitted_law.cc."""
    per_thread = at_68 * (1 - serial_share) / (best * best / WIDTH + WIDTH)
    return Law(at_68 * serial_share, per_thread * best * best, per_thread)


def fitted_best_widths() -> Tuple[float, Dict[str, float]]:
    """Table II's best widths as (time at the best width)^power, one factor for each of its ops.

    Least squares of the logarithms. Rows that are best on all cores, or all but the spared ones,
    tell only that the best width would not be less, and are left out.
    """
    rows = [
        (op, math.log(seconds * 1e-3 / (1 + gain) / REFERENCE), math.log(best))
        for op, seconds, best, gain in TABLE_II
        if best < WIDTH - SPARED
    ]
    means = {}
    for op in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == op]
        means[op] = [sum(row[k] for row in own) / len(own) for k in (1, 2)]
    above = sum((x - means[op][0]) * (y - means[op][1]) for op, x, y in rows)
    below = sum((x - means[op][0]) ** 2 for op, x, _ in rows)
    power = above / below
    return power, {op: math.exp(y - power * x) for op, (x, y) in means.items()}


def table_ii_serial() -> List[float]:
    """The share that no width shortens, of each row of Table II: its gain and width settle it."""
    return [
        share_for([seconds * 1e-3], gain + 1, BestWidth(best, 0.0))[0]
        for _, seconds, best, gain in TABLE_II
    ]


def gain_of(times: Sequence[float], serial: float, best: BestWidth) -> float:
    """Of strategy 2 over 68 threads: all instances at the best width of the slowest."""
    slowest = max(times)
    width = law(slowest, serial, best.of(slowest)).best()
    before = after = 0.0
    for time, count in Counter(times).items():
        one = law(time, serial, best.of(time))
        before += count * one.at(WIDTH)
        after += count * one.at(width)
    return before / after


def share_for(times: Sequence[float], gain: float, best: BestWidth) -> Tuple[float, BestWidth]:
    """The serial share that gives this gain; where none leaves enough, narrower best widths."""
    if gain_of(times, 0.0, best) >= gain:
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if gain_of(times, middle, best) > gain else (low, middle)
        return low, best
    low, high = 1.0, float(WIDTH)
    for _ in range(50):
        middle = BestWidth(best.at_reference, best.power, (low + high) / 2)
        enough = gain_of(times, 0.0, middle) > gain
        low, high = (middle.widest, high) if enough else (low, middle.widest)
    return 0.0, BestWidth(best.at_reference, best.power, round(low, 2))


def table_ii_relation(op: str) -> float:
    """Of an op's time to Conv2DBackpropFilter's at the same shape: mean over the three shapes."""
    ours = [row[1] for row in TABLE_II if row[0] == op]
    filters = [row[1] for row in TABLE_II if row[0] == "Conv2DBackpropFilter"]
    logs = [math.log(a / b) for a, b in zip(ours, filters)]
    return math.exp(sum(logs) / len(logs))


class NetworkFit:
    """One network: what Table VI lists is fitted, the rest takes the rate of its kin."""

    def __init__(self, network: str, work: Mapping[str, Sequence[float]]) -> None:
        self.listed = {op: ms * 1e-3 for op, (ms, _) in TABLE_VI[network].items()}
        self.gains = {op: gain for op, (_, gain) in TABLE_VI[network].items()}
        self.work = work
        self.least = min(self.listed.values())
        self.power, self.widths = fitted_best_widths()
        logs = [math.log(width) for width in self.widths.values()]
        self.other_width = math.exp(sum(logs) / len(logs))

    def listed_rate(self, op: str) -> float:
        dispatch = DISPATCH * len(self.work[op])
        return max(self.listed[op] - dispatch, NEVER_LESS * self.listed[op]) / sum(self.work[op])

    def kin_rate(self, op: str) -> float:
        convolutions = [one for one in CONVOLUTIONS if one in self.listed]
        if op in CONVOLUTIONS and convolutions:
            logs = [
                math.log(self.listed_rate(one) / table_ii_relation(one)) for one in convolutions
            ]
            return table_ii_relation(op) * math.exp(sum(logs) / len(logs))
        if op in COUNTED_IN_FLOPS:
            return self.listed_rate(next(o for o in self.listed if o in COUNTED_IN_FLOPS))
        by_bytes = [one for one in self.listed if one not in COUNTED_IN_FLOPS]
        kin = [one for one in by_bytes if (one in MKL) == (op in MKL)] or by_bytes
        return sum(self.listed[one] for one in kin) / sum(sum(self.work[one]) for one in kin)

    def fit(self, op: str) -> Fit:
        units, count = sum(self.work[op]), len(self.work[op])
        if op in self.listed:
            rate, gain, source = self.listed_rate(op), self.gains[op], "VI"
        else:
            # Such ops "do not have performance improvement" (section IV-B of the paper).
            rate, gain, source = self.kin_rate(op), 1.0, "kin"
            if rate * units + DISPATCH * count > self.least:
                room = max(self.least - DISPATCH * count, NEVER_LESS * self.least)
                rate, source = room / units, "fifth"
        times = [DISPATCH + rate * one for one in self.work[op]]
        best = BestWidth(self.widths.get(op, self.other_width), self.power)
        serial, best = share_for(times, gain, best)
        gained = gain_of(times, serial, best)
        return Fit(op, rate, serial, best, source, sum(times), max(times), gained)

    def all(self) -> List[Fit]:
        return [self.fit(op) for op in sorted(self.work)]


def inventory(tool: pathlib.Path) -> Dict[str, Dict[str, List[float]]]:
    """Work of every instance that has any, by network and op."""
    printed = subprocess.run(
        [str(tool)], check=True, timeout=120, stdout=subprocess.PIPE, text=True
    )
    found: Dict[str, Dict[str, List[float]]] = {}
    for line in printed.stdout.splitlines():
        network, op, flops, size = line.split("\t")
        if float(size) > 0:
            work = float(flops if op in COUNTED_IN_FLOPS else size)
            found.setdefault(network, {}).setdefault(op, []).append(work)
    return found


def fit_all(tool: pathlib.Path) -> Dict[str, List[Fit]]:
    found = inventory(tool)
    return {name: NetworkFit(name, found[name]).all() for name in TABLE_VI}


def source_text(fits: Mapping[str, Sequence[Fit]]) -> str:
    lines = [
        "// Written by bench/fit_op_laws.py from Tables II and VI of the paper. Do not edit.",
        "// Sources: VI: that table. kin: the rate of the ops of its kind in it. fifth: the same,",
        "// but no more in all than the last op that the table has for the network.",
        '#include "perfmodel/networks/fitted_laws.h"',
        "",
        "namespace optile::perfmodel::networks {",
        "",
        f"const double kDispatchSeconds = {DISPATCH:.4g};",
        f"const double kBestWidthPower = {fitted_best_widths()[0]:.4f};",
        "",
        "using enum WorkUnit;",
        "",
        "// clang-format off",
        "namespace {",
        "const FittedOp kOps[] = {",
    ]
    for network, ops in fits.items():
        for one in ops:
            unit = "kFlops" if one.op in COUNTED_IN_FLOPS else "kBytes"
            lines.append(
                f'    {{"{network}", "{one.op}", {unit}, {one.per_unit:.6e}, '
                f'{one.serial:.5f}, {one.best.at_reference:.3f}, {one.best.widest:.2f}, '
                f'"{one.source}"}},'
            )
    lines += [
        "};",
        "}  // namespace",
        "// clang-format on",
        "",
        "std::span<const FittedOp> fitted_ops() {",
        "  return kOps;",
        "}",
        "",
        "}  // namespace optile::perfmodel::networks",
        "",
    ]
    return "\n".join(lines)


def report(fits: Mapping[str, Sequence[Fit]]) -> str:
    power, widths = fitted_best_widths()
    lines = [f"best width = factor * (time / {REFERENCE * 1e3:.0f} ms) ^ {power:.3f}; Table II:"]
    for row, serial in zip(TABLE_II, table_ii_serial()):
        op, seconds, best, gain = row
        ours = BestWidth(widths[op], power).of(seconds * 1e-3 / (1 + gain))
        lines.append(
            f"  {op:22} {seconds:5.1f} s  best {best} ({ours:4.1f})  gain {gain:5.1%}  "
            f"serial share {serial:.2f}"
        )
    for network, ops in fits.items():
        total = sum(one.seconds for one in ops) * 1e3
        lines.append(f"{network}: {total:.1f} ms at {WIDTH} threads")
        for one in sorted(ops, key=lambda fit: -fit.seconds):
            lines.append(
                f"  {one.op:22} {one.seconds * 1e3:9.3f} ms  slowest {one.slowest * 1e3:7.3f} ms, "
                f"best {one.best.of(one.slowest):4.1f}  serial {one.serial:.3f}  "
                f"gain {one.gain:.3f}  {one.source}"
            )
    return "\n".join(lines)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path, help="network_ops of a build")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    fits = fit_all(options.tool)
    text = source_text(fits)
    print(report(fits))
    if options.check:
        if OUTPUT.read_text(encoding="utf-8") != text:
            print(f"{OUTPUT} is not what the fit gives now", file=sys.stderr)
            return 1
        return 0
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
