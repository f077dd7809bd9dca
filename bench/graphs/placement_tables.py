#!/usr/bin/python3
"""The tables of docs/results/placement.md, each with the command that makes it.

FOLDER holds the published graphs as their repositories do: dnn-partitioning and pipedream. Tables
by evaluations come out the same on any machine; those by time say so.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import List, Mapping, Sequence

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
PARTITIONING = pathlib.Path("dnn-partitioning")
PROFILES = pathlib.Path("pipedream/profiler/image_classification/profiles")
STEP = ("inception_v3", "nasnetamobile", "resnet50", "squeezenet1_0")
LEARNED = ("alexnet", "inception_v3", "resnet18", "resnet50", "squeezenet1_0", "vgg16")
AT_ONCE = ("step", "--devices", "2", "--bandwidth", "25", "--latency", "2")
ON_A_BUS = ("step", "--links", "bus", "--devices", "2", "--bandwidth", "7.6",
            "--latency", "25", "--op-time", "5.7")
STEP_METHODS = ("--methods", "auto,single,block,metis,list,etf,ilp")
POLICIES = ("--methods", "auto,placeto,gdp,hdp,rnn", "--evaluations", "500")


@dataclass(frozen=True)
class Table:
    """What one `optile compare` prints; the first word is the objective."""

    words: Sequence[str]
    folder: pathlib.Path = PROFILES
    profiles: Sequence[str] = ()  # of the folder; all of its graphs unless said
    by_time: bool = False


TABLES: Mapping[str, Table] = {
    "load": Table(("load", "--experts", "EXPERTS", "--evaluations", "20000000"),
                  PARTITIONING / "throughput-inputs"),
    "latency": Table(("latency", "--methods", "auto,greedy,local-search",
                      "--evaluations", "1000000"), PARTITIONING / "latency-inputs"),
    "step-at-once": Table((*AT_ONCE, *STEP_METHODS), profiles=STEP, by_time=True),
    "step-on-a-bus": Table((*ON_A_BUS, *STEP_METHODS), profiles=STEP, by_time=True),
    "learned-at-once": Table((*AT_ONCE, *POLICIES), profiles=LEARNED),
    "learned-on-a-bus": Table((*ON_A_BUS, *POLICIES), profiles=LEARNED),
}


def chosen(folder: pathlib.Path, profiles: Sequence[str], into: pathlib.Path) -> pathlib.Path:
    """A folder with these profiles alone, each under its network's name."""
    for name in profiles:
        graph = folder / name / "graph.txt"
        if not graph.is_file():
            raise FileNotFoundError(f"there is no {graph}")
        (into / f"{name}.txt").symlink_to(graph.resolve())
    return into


def wrapped(words: Sequence[str]) -> str:
    """The command as a document shows it."""
    lines = ["optile compare"]
    for word in words:
        if word.startswith("--") and len(lines[-1]) > 70:
            lines.append(" ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


def made(table: Table, data: pathlib.Path, optile: pathlib.Path, seconds: float) -> str:
    """The table in Markdown, under its command."""
    objective = table.words[0]
    words: List[str] = list(table.words[1:])
    if table.by_time:
        words += ["--time-limit", f"{seconds:g}s"]
    with tempfile.TemporaryDirectory() as empty:
        graphs = data / table.folder
        if table.profiles:
            graphs = chosen(graphs, table.profiles, pathlib.Path(empty))
        real = [str(data / PARTITIONING / "human-experts") if word == "EXPERTS" else word
                for word in words]
        begun = time.monotonic()
        command = [str(optile), "compare", objective, "--graphs", str(graphs), *real]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    # A profile's row begins with the folder that was made for it.
    rows = printed.replace(f"| {pathlib.Path(empty).name}/", "| ")
    return f"```\n{wrapped([objective, '--graphs', 'GRAPHS', *words])}\n```\n\n{rows}"


def main() -> int:
    parser = argparse.ArgumentParser(description="the tables of docs/results/placement.md")
    parser.add_argument("folder", type=pathlib.Path, help="with dnn-partitioning and pipedream")
    parser.add_argument("--table", action="append", choices=sorted(TABLES), help="all unless said")
    parser.add_argument("--seconds", type=float, default=5, help="of tables by time")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    options = parser.parse_args()
    for name in options.table or TABLES:
        try:
            text = made(TABLES[name], options.folder, options.build / "bin" / "optile",
                        options.seconds)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"placement_tables.py: {name}: {error}", file=sys.stderr)
            return 1
        print(f"{name}\n\n{text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
