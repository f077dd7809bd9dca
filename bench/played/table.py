#!/usr/bin/env python3
"""Makes the table of what a network's kernels take on a described machine, and the same step as a
graph for `optile simulate`. Runs the network once under played_kernels, to see its kernels."""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
from typing import Dict, List

import kernels

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 2  # that models.py trains
WORDS = 20
# The paper's batches. The recurrent network has its batch in the middle of shapes, and in rows of
# words.
BATCHES: Dict[str, kernels.Batch] = {
    "resnet50": kernels.Batch({BATCH: 64}),
    "dcgan": kernels.Batch({BATCH: 64}),
    "inception_v3": kernels.Batch({BATCH: 16}),
    "lstm": kernels.Batch({BATCH: 20, BATCH * WORDS: 20 * WORDS}, anywhere=True),
}


def record(python: str, library: pathlib.Path, network: str, folder: pathlib.Path) -> None:
    """Leaves NETWORK.kernels and NETWORK.nodes in the folder."""
    command = [python, str(HERE / "models.py"), network, "--steps", "1",
               "--graph", str(folder / f"{network}.nodes")]  # fmt: skip
    environment = dict(os.environ, LD_PRELOAD=str(library),
                       OPTILE_PLAYED_RECORD=str(folder / f"{network}.kernels"))  # fmt: skip
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def played(network: str, folder: pathlib.Path) -> List[kernels.Played]:
    import json

    nodes = json.loads((folder / f"{network}.nodes").read_text(encoding="utf-8"))
    recorded = (folder / f"{network}.kernels").read_text(encoding="utf-8")
    return kernels.played_nodes(nodes, kernels.read_kernels(recorded), BATCHES[network])


def write_table(tool: pathlib.Path, network: str, machine: str, folder: pathlib.Path) -> None:
    """From what record() left; writes NETWORK.times and NETWORK.graph.json there."""
    lines = "".join(one.line() + "\n" for one in played(network, folder))
    command = [str(tool), network, machine, str(folder / f"{network}.times"),
               str(folder / f"{network}.graph.json")]  # fmt: skip
    subprocess.run(command, input=lines, text=True, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=sorted(BATCHES))
    parser.add_argument("--machine", default="knl")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build")
    parser.add_argument("--python", default=sys.executable, help="one with TensorFlow")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path())
    options = parser.parse_args()
    played_at = options.build / "bench" / "played"
    options.out.mkdir(parents=True, exist_ok=True)
    record(options.python, played_at / "libplayed_kernels.so", options.network, options.out)
    write_table(played_at / "played_times", options.network, options.machine, options.out)


if __name__ == "__main__":
    main()
