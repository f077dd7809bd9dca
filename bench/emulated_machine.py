#!/usr/bin/python3
"""Programs side by side on more processors than this machine has: optile against static splits.

    bench/emulated_machine.py --processors 8 --programs 3 --mixes 0 5 --json mixes.json

Boots an emulated machine (QEMU, no KVM needed) with Debian's kernel and this machine's files.
Launcher, shim, daemon, OpenMP runtimes and scheduler are the real ones. Only the programs' work is
not: a thread holds its processor for as long as the op's law says, and computes nothing. Each law
is serial + parallel / threads + cost * threads; programs are random, by number. With --bandwidth
they also draw on a memory that they share, so that they slow each other down.

A mix is a few such programs. Each is run alone at its best uniform width, alone under optile,
all together under optile a few times, and then in rounds: all together under optile, and pinned to
the static splits that are best by the laws, each program at its best uniform width. Every run of a
program has the same words. A program's progress is its throughput over that alone; the weighted
speed-up is the sum.

What it is not: threads that wait do so passively, caches are not shared, and the shim's code is
emulated, so that it costs many times what it does outside.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import sys
import tempfile
from typing import Any, List, Mapping

import ratios
import workload_run

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "emulated_machine"))
import machine  # noqa: E402

BUILD = HERE.parent / "build"
PATIENCE = 6 * 3600.0


def table(result: Mapping[str, Any]) -> List[str]:
    lines = [f"{'programs':12}  optile  best split        optile gets so much of it"]
    logs = []
    for one in result["mixes"]:
        best = one["best_split"]
        mine, its = one["speedups"]["optile"], one["speedups"][best]
        logs.append(ratios.log_ratios(mine, its))  # throughputs: more is better
        lines.append(
            f"{' '.join(map(str, one['programs'])):12}  {ratios.geometric_mean(mine):6.3f}  "
            f"{ratios.geometric_mean(its):.3f} {best:12}  {ratios.pooled(logs[-1:])}"
        )
    lines.append(f"all of them: {ratios.pooled(logs)}")
    return lines


def main(words: List[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--processors", default="4", help="QEMU's -smp: 16, or 16,sockets=2 (default 4)"
    )
    parser.add_argument("--programs", type=workload_run.positive, default=2, help="of a mix")
    parser.add_argument(
        "--mixes", type=int, nargs=2, metavar=("FIRST", "END"), default=[0, 5],
        help="mix 3 of pairs are programs 6 and 7 (default 0 5)",
    )  # fmt: skip
    parser.add_argument(
        "--recorded", type=pathlib.Path, nargs="+", action="append", default=[], metavar="FILE",
        help="instead: a mix of programs that do what these step graphs of against_life.py "
        "--graph say; may be given again",
    )  # fmt: skip
    parser.add_argument("--rounds", type=workload_run.positive, default=3)
    parser.add_argument("--prepare", type=int, default=2, help="runs together that do not count")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run (default 15)")
    parser.add_argument(
        "--skip", type=float, default=1.0, help="at the start of each run (default 1)"
    )
    parser.add_argument("--splits", type=workload_run.positive, default=3, help="that are run")
    parser.add_argument(
        "--bandwidth", type=float, default=0.0, metavar="THREADS",
        help="that may draw on memory at a time before each gets less; programs then differ in how "
        "much of their work that is (default: no end, and no such work)",
    )  # fmt: skip
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="of the daemons")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument(
        "--daemon", nargs=argparse.REMAINDER, default=[], help="options of the daemons, last"
    )
    options = parser.parse_args(words)
    files = {file.resolve() for mix in options.recorded for file in mix}
    if len({file.stem for file in files}) < len(files):
        parser.error("--recorded: files of one name would be one program")
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as text:
        folder = pathlib.Path(text)
        command = ["/usr/bin/python3", str(HERE / "emulated_machine" / "inside.py"), "--build",
                   str(options.build.resolve()), "--mixes", *map(str, options.mixes),
                   "--json", "/out/result.json"]  # fmt: skip
        for name in ("programs", "rounds", "prepare", "seconds", "skip", "splits", "bandwidth"):
            command += [f"--{name}", str(getattr(options, name))]
        for files in options.recorded:
            command += ["--recorded", *(str(file.resolve()) for file in files)]
        command += ["--daemon", "--log", "/out/daemon.log", *options.daemon]
        machine.run(command, options.processors, folder, PATIENCE)
        result = json.loads((folder / "out" / "result.json").read_text())
        if options.log is not None:
            shutil.copy(folder / "out" / "daemon.log", options.log)
    result = {"kind": "emulated_machine", "processors": options.processors, **result}
    workload_run.write_json(options.json, result)
    print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("emulated_machine", main))
