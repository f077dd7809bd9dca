#!/usr/bin/python3
"""What a training step takes more while optile listens to its ops.

    bench/overhead/sampled_steps.py --build build --workload lstm --rounds 100

Every round runs one step that is listened to and one that is not, in random order and in one
process, so what tells one process from another plays no part. Prints
{"rest": [seconds], "listened": [seconds], "ops": outermost ones of a step}.
"""

import argparse
import ctypes
import importlib
import json
import pathlib
import random
import sys
import time
from typing import Dict, List

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "workloads"))

import training  # noqa: E402

WARM_STEPS = 30
STATES = ("rest", "listened")


def shim(build: pathlib.Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(build / "lib" / "liblistening.so"))
    library.begin_listening.restype = ctypes.c_char_p
    library.ops_reported.restype = ctypes.c_ulonglong
    failed = library.begin_listening(str(build / "lib" / "liboptile_torch_bridge.so").encode())
    if failed:
        sys.exit(f"sampled_steps: {failed.decode()}")
    return library


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--workload", default="lstm")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    library = shim(options.build.resolve())
    make = importlib.import_module(options.workload).make
    arguments = training.parse_options(options.workload, 20, [])
    torch.manual_seed(arguments.seed)
    trainer = make(arguments)
    index = 0

    def step(state: str) -> float:
        nonlocal index
        library.listen(STATES.index(state))
        begin = time.perf_counter()
        trainer.step(index)
        index += 1
        return time.perf_counter() - begin

    for _ in range(WARM_STEPS):
        step("rest")
    seconds: Dict[str, List[float]] = {state: [] for state in STATES}
    source = random.Random(1)
    for _ in range(options.rounds):
        for state in source.sample(STATES, len(STATES)):
            seconds[state].append(step(state))
    ops = library.ops_reported() // options.rounds
    json.dump({**seconds, "ops": ops}, sys.stdout)
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
