"""Ops of PyTorch, and between them a library where Inductor has its kernels, and a copy of it with
another name. Runs half of its steps, says how large the teams were, waits for a line, runs the
others, and says it again, with how many sums were wrong and how often the count was changed."""

import ctypes
import pathlib
import shutil
import sys
import tempfile

import torch

DIGITS = "to" + 49 * "2"


def team_of(library, wrong):
    team = ctypes.c_int()
    wrong.append(library.sum_of_parts(1000, ctypes.byref(team)) != 499500)
    return team.value


def main():
    with tempfile.TemporaryDirectory(prefix="optile-") as folder:
        (pathlib.Path(folder) / DIGITS[:2]).mkdir()
        inside = pathlib.Path(folder) / DIGITS[:2] / f"c{DIGITS}.main.so"
        outside = pathlib.Path(folder) / "kernel.so"
        for path in (inside, outside):
            shutil.copy(sys.argv[1], path)
        kernel, other = ctypes.CDLL(str(inside)), ctypes.CDLL(str(outside))
    x = torch.randn(64, 64)
    own = torch.get_num_threads()
    wrong, surprises, teams = [], 0, ()
    for i in range(24):
        if i == 12:
            print("ready, teams", *teams, flush=True)
            sys.stdin.readline()
        torch.mm(x, x)
        teams = team_of(kernel, wrong), kernel.team_of_clause(3), team_of(other, wrong)
        surprises += torch.get_num_threads() != own
    print("teams", *teams, end=f", {sum(wrong)} wrong, {surprises} surprises\n", flush=True)


main()
