#!/usr/bin/python3
"""What happens to real programs that have the shim in them and no daemon."""

import os
import subprocess
import sys
import tempfile
import unittest

SHIM = ""
FOREIGN_TORCH = ""
LOCAL_PRODUCTS = ""
TWO_SITES = ""
LINKED_WITH_A_RUNTIME = ""
LINKED_WITH_NOTHING = ""
ANOTHER_RUNTIME = ""

OPENS_A_FOREIGN_TORCH = """
import ctypes, re
library = ctypes.CDLL({path!r})
print(library.sum_in_a_team(10))
maps = open("/proc/self/maps").read()
print(sorted(set(re.findall(r"libtorch[^/ ]*$", maps, re.M))))
"""

MULTIPLIES = """
import ctypes
library = ctypes.CDLL({products!r})
library.product_inside.restype = ctypes.c_double
for size in (8, 200, 8, 200):
    product = ctypes.c_double()
    at = ctypes.byref(product)
    library.product_by_a_jump(101, 111, 111, size, size, size, ctypes.c_double(1.0), at, size, at,
                              size, ctypes.c_double(0.0), at, size)
    print(library.product_inside(size), product.value)
"""

TAKES_TURNS = """
import ctypes
library = ctypes.CDLL({products!r})
sites = ctypes.CDLL({sites!r})
sites.multiply_from_two_sites(library.product_by_a_jump, 1)
first = sites.loader_questions()
sites.multiply_from_two_sites(library.product_by_a_jump, 100)
print(first > 0, sites.loader_questions() - first)
"""

# The other copy lies before the right one in the order of loading.
HAS_A_RUNTIME_BY_ITS_LOADER = """
import ctypes
ctypes.CDLL({another!r})
host = ctypes.CDLL({host!r})
print(host.ask(0), host.ask(3), host.ask(0))
"""

HAS_NO_RUNTIME = """
import ctypes
plugin = ctypes.CDLL({nothing!r})
print(plugin.thread_of_a_region(0), plugin.thread_of_a_region(3))
"""

CLOSES_EVERYTHING = """
import ctypes, os
library = ctypes.CDLL({path!r})
library.sum_in_a_team(10)
os.closerange(3, 4096)
print(library.sum_in_a_team(10))
"""


class PreloadedPrograms(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="optile-")
        self.addCleanup(self.folder.cleanup)

    def run_python(self, code: str, **environment: str) -> subprocess.CompletedProcess:
        program = code.format(path=FOREIGN_TORCH, products=LOCAL_PRODUCTS, sites=TWO_SITES,
                              host=LINKED_WITH_A_RUNTIME, nothing=LINKED_WITH_NOTHING,
                              another=ANOTHER_RUNTIME)
        return subprocess.run(
            ["/usr/bin/python3", "-c", program],
            env={
                **os.environ,
                "LD_PRELOAD": SHIM,
                "OPTILE_SOCKET": self.folder.name + "/optiled.sock",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self) -> str:
        with open(self.folder.name + "/clients.log", encoding="utf-8") as log:
            return log.read()

    def test_keep_their_own_pytorch(self) -> None:
        run = self.run_python(OPENS_A_FOREIGN_TORCH)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "45\n['libtorch_cpu.so']\n")
        self.assertIn("no bridge for", self.log())

    def test_find_runtime_of_local_library(self) -> None:
        # ctypes opens RTLD_LOCAL: libgomp is not in the global scope.
        run = self.run_python(OPENS_A_FOREIGN_TORCH)
        self.assertTrue(run.stdout.startswith("45\n"), run)

    def test_keep_their_descriptors_unwritten(self) -> None:
        run = self.run_python(CLOSES_EVERYTHING)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "45\n", ""))

    def test_find_local_blas_from_other_callers(self) -> None:
        run = self.run_python(MULTIPLIES)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "9.0 9.0\n201.0 201.0\n" * 2)

    def test_ask_loader_for_blas_once_per_caller(self) -> None:
        run = self.run_python(TAKES_TURNS, LD_PRELOAD=f"{TWO_SITES}:{SHIM}")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "True 0\n")

    def test_find_runtime_linked_by_loading_library(self) -> None:
        run = self.run_python(HAS_A_RUNTIME_BY_ITS_LOADER)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "70 73 70\n")
        self.assertNotIn("no OpenMP runtime is loaded", self.log())

    def test_run_regions_with_one_thread_without_runtime(self) -> None:
        run = self.run_python(HAS_NO_RUNTIME)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "0 0\n", ""))
        self.assertEqual(self.log().count("no OpenMP runtime is loaded for its regions"), 1)

    def test_print_nothing_when_off(self) -> None:
        run = self.run_python(OPENS_A_FOREIGN_TORCH, OPTILE_MODE="off")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertFalse(os.path.exists(self.folder.name + "/clients.log"))


if __name__ == "__main__":
    SHIM, FOREIGN_TORCH, LOCAL_PRODUCTS, TWO_SITES = (sys.argv.pop(1) for _ in range(4))
    LINKED_WITH_A_RUNTIME, LINKED_WITH_NOTHING, ANOTHER_RUNTIME = (
        sys.argv.pop(1) for _ in range(3)
    )
    unittest.main(verbosity=2)
