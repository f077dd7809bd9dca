#!/usr/bin/python3
"""Gives each end-to-end test two cores that no other one has, or half of such a pair's time.

    core_pairs.py spec FILE         the pairs of the cores that may be used, as CTest reads them
    core_pairs.py run COMMAND...    on the pair that CTest has chosen; without one, on all cores

Programs of these tests keep every core they may use busy, many of them by spinning: two tests on
the same cores take ten times as long, and what they measure is each other.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import List

# What CTest says of the one group that a test asks for: "id:0_1,slots:2". Both slots are the pair
# alone; one of them is shared with another test that takes one.
CHOSEN = "CTEST_RESOURCE_GROUP_0_PAIRS"


def pairs(cpus: List[int]) -> List[List[int]]:
    """Neighbours together; one that is left over goes to the last pair."""
    whole = max(len(cpus) // 2, 1)
    found = [cpus[2 * at:2 * at + 2] for at in range(whole)]
    found[-1] += cpus[2 * whole:]
    return found


def specification(cpus: List[int]) -> str:
    ids = ["_".join(map(str, pair)) for pair in pairs(cpus)]
    return json.dumps({"version": {"major": 1, "minor": 0},
                       "local": [{"pairs": [{"id": name, "slots": 2} for name in ids]}]})


def chosen_cpus(text: str) -> List[int]:
    match = re.fullmatch(r"id:([0-9_]+),slots:[12]", text)
    if match is None:
        raise ValueError(f"CTest chose {text!r}, which is no pair of cores")
    return [int(cpu) for cpu in match[1].split("_")]


def main(arguments: List[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "spec":
        with open(arguments[1], "w", encoding="utf-8") as file:
            file.write(specification(sorted(os.sched_getaffinity(0))))
        return 0
    if len(arguments) >= 2 and arguments[0] == "run":
        if CHOSEN in os.environ:
            os.sched_setaffinity(0, chosen_cpus(os.environ.pop(CHOSEN)))
        os.execvp(arguments[1], arguments[1:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
