"""Words that bind threads, in programs of every runtime: under optile they have as many threads as
without it, and each may run where it may without it.

A subset in which each two of program, word, number of threads, mode and run meet is what ./dev test
runs. OPTILE_WHOLE_MATRIX=1 runs all of them, and the PyTorch of OPTILE_WHEEL_PYTHON too:

    OPTILE_WHOLE_MATRIX=1 OPTILE_BUILD_DIR=build python3 -m unittest -v test_bindings
"""
import itertools
import os
import random
import unittest

from support.harness import (PROGRAMS, PYTHON, SCRIPTS, EndToEndTest, blas, library_folder,
                             usable_cpus)

WHOLE = os.environ.get("OPTILE_WHOLE_MATRIX") == "1"
WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON")

PASSIVE = {"OMP_WAIT_POLICY": "passive"}


def words():
    units = sorted(os.sched_getaffinity(0))
    one_each = ",".join(f"{{{unit}}}" for unit in units)
    return [{"OMP_PROC_BIND": "true"}, {"OMP_PROC_BIND": "close"}, {"OMP_PROC_BIND": "spread"},
            {"OMP_PROC_BIND": "master"}, {"OMP_PLACES": "cores"},
            {"OMP_PROC_BIND": "close", "OMP_PLACES": "threads"}, {"OMP_PLACES": one_each},
            {"GOMP_CPU_AFFINITY": " ".join(map(str, units))}, {"KMP_AFFINITY": "compact"}]


def programs():
    """Name, command, environment."""
    script = SCRIPTS / "bound_threads.py"
    found = [("gcc", [PROGRAMS / "masks"], {}),
             ("numpy", [PYTHON, script, "numpy"], blas("openblas-openmp"))]
    if (PROGRAMS / "masks_of_clang").exists():
        found.append(("clang", [PROGRAMS / "masks_of_clang"], {}))
    if WHOLE:
        found.append(("torch", [PYTHON, script, "torch"], blas("openblas-openmp")))
    if WHOLE and WHEEL_PYTHON:
        found.append(("wheel", [WHEEL_PYTHON, script, "torch"], {}))
    return found


NUMBERS = [{}, {"OMP_NUM_THREADS": "2"}]
MODES = ["tune", "observe", "advise", "freeze"]
RUNS = [1, 2]


def pairwise(*factors):
    """Rows, a choice of each factor, in which each two choices of two factors meet."""
    left = {((one, a), (other, b)) for (one, first), (other, second) in
            itertools.combinations(enumerate(factors), 2)
            for a in range(len(first)) for b in range(len(second))}
    draw = random.Random(1)
    rows = []
    while left:
        tried = [tuple(draw.randrange(len(factor)) for factor in factors) for _ in range(200)]
        # One pair that is left is in each of them, so that every row is worth its time.
        (one, a), (other, b) = min(left)
        tried = [row[:one] + (a,) + row[one + 1:] for row in tried]
        tried = [row[:other] + (b,) + row[other + 1:] for row in tried]
        pairs = [set(itertools.combinations(enumerate(row), 2)) & left for row in tried]
        best = max(range(len(tried)), key=lambda index: len(pairs[index]))
        left -= pairs[best]
        rows.append(tried[best])
    return [tuple(factor[i] for factor, i in zip(factors, row)) for row in rows]


@unittest.skipIf(usable_cpus() < 2, "one core: every thread may run on the same")
class BoundThreads(EndToEndTest):
    def test_keep_number_and_affinity_of_untouched_run(self):
        self.space.start_daemon()
        factors = (programs(), words(), NUMBERS, MODES, RUNS)
        rows = list(itertools.product(*factors)) if WHOLE else pairwise(*factors)
        bare = {}
        for (name, command, extra), word, number, mode, runs in rows:
            env = {**PASSIVE, **extra, **word, **number}
            key = (name, tuple(sorted(env.items())))
            if key not in bare:
                bare[key] = self.space.untouched(command, env)
                self.assertEqual(0, bare[key].code, bare[key])
            for run in range(runs):
                with self.subTest(program=name, mode=mode, run=run + 1, **word, **number):
                    finished = self.space.launched(command, "--mode", mode, env=env)
                    self.assertEqual((0, bare[key].stdout), (finished.code, finished.stdout),
                                     finished)

    def test_keep_number_where_runtime_loads_after_binding(self):
        # OpenBLAS brings a libgomp along, which binds the main thread as it is opened.
        blas_file = library_folder() / "openblas-openmp" / "libopenblas.so.0"
        script = ("import ctypes, os; os.environ['OMP_PROC_BIND'] = 'TRUE'; "
                  f"print(ctypes.CDLL('{blas_file}').openblas_get_num_threads())")
        untouched = self.space.untouched([PYTHON, "-c", script], {})
        self.assertEqual(f"{usable_cpus()}\n", untouched.stdout, untouched)
        finished = self.space.launched([PYTHON, "-c", script], "--openmp", "llvm")
        self.assertEqual(untouched.stdout, finished.stdout, finished)

    def test_keep_launcher_number_where_nothing_is_bound(self):
        # A word that binds nothing leaves the number of threads to the launcher.
        for word in ({"OMP_PROC_BIND": "false"}, {"KMP_AFFINITY": "none"}):
            with self.subTest(word):
                finished = self.space.launched([PROGRAMS / "masks"], env={**PASSIVE, **word})
                self.assertIn(f"first: {usable_cpus()} threads", finished.stdout, finished)


if __name__ == "__main__":
    unittest.main()
