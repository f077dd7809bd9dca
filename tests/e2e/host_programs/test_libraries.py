"""Programs that do their work in libraries: BLAS's matrix products and oneDNN's primitives are ops
by their sizes, and get widths where the library takes them; the programs end as without optile."""
import os
import unittest

from support.harness import PROGRAMS, PYTHON, EndToEndTest, blas, usable_cpus

STEPS = 4000  # a second or two: shorter than 300 ms is over before its step is known
SECONDS = 3  # of the same work: however quick the machine, its step is known
FEW = 8  # times fewer where nothing is searched, and only what is printed counts
SQUARE = ("dgemm", "224x224x224")
THIN = ("sgemm", "320x96x256 tn")
# Two threads that sleep at once: quick on a machine with other work too.
TWO_THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}

WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON", "")


def work(expression, imports="", made=""):
    """Code that computes the same for so many seconds (an argument) and prints what came of it:
    exact, so however often it is computed the same is printed."""
    return (f"import sys, time, numpy\n{imports}\n"
            "numbers = numpy.random.default_rng(1).integers(-2, 3, (256, 256)) * 1.0\n"
            f"{made}\n"
            "end = time.monotonic() + float(sys.argv[1])\n"
            "found = set()\n"
            "while time.monotonic() < end:\n"
            f"    found.add({expression})\n"
            "print(found)\n")


class LibraryTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.space.start_daemon()

    always = ()  # options of every run

    def compared(self, command, length, arguments, env, *options, prints_length=True):
        """Runs `command`, which takes its length and then `arguments`, in every way, and returns
        the report of the tuned run. Where what it prints does not depend on its length, one
        untouched run is enough, the short one."""
        path = self.space.dir / "report.json"
        ways = {length // FEW or length / FEW: (("--mode", "off"), ("--mode", "observe")),
                length: (("--report", path, *options),)}
        for long, all_options in ways.items():
            line = [*command, long, *arguments]
            same = line if prints_length else [*command, min(ways), *arguments]
            untouched = self.untouched_once(same, env)
            self.assertEqual(0, untouched.code, untouched)
            for one in all_options:
                self.assert_same_run(
                    untouched, self.space.launched(line, *one, *self.always, env=env))
        return self.report(path)

    def ops(self, report):
        return {(op["name"], op["shape"]) for op in report["ops"]}


class BlasOps(LibraryTest):
    def check_steered(self, program, provider):
        report = self.compared([PROGRAMS / program], STEPS, (),
                               {**blas(provider), **TWO_THREADS})
        self.assertLessEqual({SQUARE, THIN}, self.ops(report))
        self.assertEqual(provider, report["blas"])
        self.assertGreater(report["steps"], STEPS / 2, report)
        self.assertGreater(report["coverage"]["steered"], 0.3, report["coverage"])
        explained = self.space.ask("explain", "dgemm")
        self.assertEqual(0, explained.code, explained)
        self.assertIn("224x224x224", explained.stdout)
        return report

    def test_are_steered_in_openblas_on_openmp(self):
        self.check_steered("blas_steps", "openblas-openmp")

    def test_are_steered_in_openblas_with_own_threads(self):
        # No OpenMP in the process: the products alone let it attach.
        self.check_steered("blas_steps", "openblas-pthread")

    def test_are_steered_in_both_pools(self):
        self.check_steered("blas_steps_openmp", "openblas-pthread")

    def test_are_observed_where_library_ignores_width(self):
        report = self.compared([PROGRAMS / "blas_steps"], STEPS // 4, (),
                               {**blas("blis-openmp"), **TWO_THREADS, "BLIS_NUM_THREADS": "2"})
        self.assertLessEqual({SQUARE, THIN}, self.ops(report))
        self.assertEqual(0, report["coverage"]["steered"], report["coverage"])
        self.assertEqual({"observed only: its width cannot be set from outside"},
                         {op["reason"] for op in report["ops"] if op["name"] == "dgemm"})

    def test_exclude_products_inside_regions(self):
        for provider in ("openblas-openmp", "openblas-pthread"):
            with self.subTest(provider):
                report = self.compared([PROGRAMS / "blas_steps_openmp"], STEPS // 4, ["region"],
                                       {**blas(provider), **TWO_THREADS})
                self.assertTrue(report["ops"], report)
                self.assertFalse({SQUARE, THIN} & self.ops(report), report["ops"])

    def test_are_steered_in_locally_opened_library(self):
        # Python opens its extensions, and what they need, out of everybody's reach.
        script = work("float((numbers @ numbers).sum())")
        for provider in ("openblas-openmp", "openblas-pthread"):
            with self.subTest(provider):
                report = self.compared([PYTHON, "-c", script], SECONDS, (),
                                       {**blas(provider), **TWO_THREADS}, prints_length=False)
                self.assertIn("dgemm", {name for name, _ in self.ops(report)})
                self.assertGreater(report["coverage"]["steered"], 0.2, report["coverage"])


@unittest.skipUnless(WHEEL_PYTHON, "no packages from pip: OPTILE_WHEEL_PYTHON is not set; ./dev "
                                   "test makes it and runs this")
class PackagedBlasOps(LibraryTest):
    """numpy and scipy as pip installs them, each with an OpenBLAS of its own under other names."""
    # Nothing is built for the PyTorch that lies beside: these programs do not import it.
    always = ("--torch-bridge", "off")

    def check(self, product, imports=""):
        script = work(f"float({product}.sum())", imports)
        report = self.compared([WHEEL_PYTHON, "-c", script], SECONDS, (), TWO_THREADS,
                               prints_length=False)
        self.assertIn(("dgemm", "256x256x256"), self.ops(report))
        self.assertEqual("openblas", report["blas"])
        self.assertGreater(report["coverage"]["steered"], 0.2, report["coverage"])

    def test_are_steered_in_numpy_wheel(self):
        self.check("(numbers @ numbers)")

    def test_are_steered_in_scipy_wheel(self):
        self.check("scipy.linalg.blas.dgemm(1.0, numbers, numbers)", "import scipy.linalg.blas")

    def test_are_steered_in_numpy_and_scipy_wheels(self):
        """Each copy follows its own products."""
        script = work("float((numbers @ numbers)[0, 0]) + "
                      "float(scipy.linalg.blas.dgemm(1.0, fewer, fewer)[0, 0])",
                      "import scipy.linalg.blas",
                      "fewer = numpy.asfortranarray(numbers[:240, :240])")
        report = self.compared([WHEEL_PYTHON, "-c", script], SECONDS, (), TWO_THREADS,
                               prints_length=False)
        self.assertLessEqual({("dgemm", "256x256x256"), ("dgemm", "240x240x240")},
                             self.ops(report))
        # All that is seen; that of one copy is about half.
        coverage = report["coverage"]
        self.assertGreater(coverage["steered"], 0.2, coverage)
        self.assertGreater(coverage["steered"], 0.9 * coverage["observed"], coverage)


class OneDnnOps(LibraryTest):
    """Debian's oneDNN, version 2, through its C++ interface."""

    def check(self, *arguments):
        report = self.compared([PROGRAMS / "onednn_steps"], STEPS, arguments, TWO_THREADS)
        shapes = {op["name"]: op["shape"] for op in report["ops"]}
        self.assertRegex(shapes["convolution forward_inference"],
                         r"^4x16x28x28 32x16x3x3 f32 \w+")
        self.assertRegex(shapes["matmul"], r"^192x256 256x160 f32 \w+")
        self.assertGreater(report["coverage"]["observed"], 0.3, report["coverage"])
        return report, shapes

    def test_are_steered_when_created_each_step(self):
        report, shapes = self.check()
        self.assertIn("describe convolution", shapes)
        self.assertIn("create matmul", shapes)
        self.assertGreater(report["coverage"]["steered"], 0.1, report["coverage"])

    def test_are_steered_when_created_once(self):
        self.check("once")


class TbbOps(LibraryTest):
    """Debian's oneTBB."""

    def check(self, *arguments, options=("--regions=tune",), steps=STEPS // 2,
              names=("parallel_for", "parallel_reduce"), behind=""):
        """Half of the steps where only the names of the ops count."""
        report = self.compared([PROGRAMS / "tbb_steps"], steps, arguments, {}, *options)
        self.assertLessEqual(set(names), {op["name"] for op in report["ops"]})
        for op in report["ops"]:
            self.assertRegex(op["shape"], rf"^tbb_steps\+0x[0-9a-f]+{behind}$")
        return report

    def test_are_observed_by_default(self):
        report = self.check(options=(), steps=STEPS)
        self.assertGreater(report["coverage"]["observed"], 0.5, report["coverage"])
        self.assertEqual(0, report["coverage"]["steered"], report["coverage"])

    def test_are_steered_on_request(self):
        report = self.check(steps=STEPS)
        self.assertEqual(2, len(report["ops"]), report["ops"])
        self.assertGreater(report["steps"], STEPS / 2, report)
        self.assertGreater(report["coverage"]["steered"], 0.5, report["coverage"])
        self.assertEqual([], report["fallbacks"])

    def test_include_calls_made_by_tasks(self):
        self.assertEqual(2, len(self.check("nested")["ops"]))

    def test_pass_exceptions(self):
        self.check("throws")

    def test_run_in_arena(self):
        self.check("arena", behind="" if usable_cpus() == 3 else ", arena of 3")

    def test_include_work_spawned_before_wait(self):
        report = self.check("given", steps=STEPS, names=("oneTBB wait", "parallel_pipeline"))
        self.assertGreater(report["coverage"]["observed"], 0.5, report["coverage"])
        self.assertEqual(0, report["coverage"]["steered"], report["coverage"])

    def test_respect_global_control_of_program(self):
        self.check("own")

    def test_run_on_several_threads(self):
        self.check("twice")


if __name__ == "__main__":
    unittest.main()
