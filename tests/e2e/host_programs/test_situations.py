"""Situations from public reports, each named at its test: what breaks programs whose number of
threads changes, whose threads keep something, or that bind their threads themselves. Under optile,
alone and beside another program, they compute what they compute without it."""
import unittest

from support.harness import PROGRAMS, PYTHON, EndToEndTest, blas, finish, usable_cpus

STEPS = 2000  # a second: widths are searched
REGIONS = 3000
# More threads than many machines have cores, so that there is a width between one and all.
FOUR_SLEEPING = {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
SLEEPING = {"OMP_WAIT_POLICY": "passive"}
RUNTIMES = (("--openmp", "keep"), ("--openmp", "llvm"))


class Situation(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.space.start_daemon()

    def assert_as_untouched(self, command, env, *ways, at_once=True):
        """Alone in each of the `ways`, and then all of them at once, so that there are leases."""
        untouched = self.space.untouched(command, env)
        self.assertEqual(0, untouched.code, untouched)
        lines = []
        for number, options in enumerate(ways):
            path = self.space.dir / f"report-{number}.json"
            lines.append(self.space.launcher("--report", path, *options, command=command))
            with self.subTest(options):
                self.assert_same_run(untouched, self.space.run(lines[-1], env))
                yield self.report(path)
        for process in [self.space.popen(line, env) for line in lines if at_once]:
            self.assert_same_run(untouched, finish(process))


@unittest.skipIf(usable_cpus() < 2, "one core has one width")
class NumberOfThreads(Situation):
    def assert_holds(self, program, env, *ways, at_once=True):
        env = {**env, **blas("openblas-openmp")}
        for report in self.assert_as_untouched([PROGRAMS / program, STEPS], env, *ways,
                                               at_once=at_once):
            self.assertGreater(report["steps"], STEPS / 4, report)
            self.assertGreater(report["coverage"]["steered"], 0, report["coverage"])

    def test_is_constant_across_regions(self):
        """cp2k/dbcsr#705 and #217 abort where it changes; openMVG/openMVG#2438 writes behind its
        buffers where it grows."""
        self.assert_holds("fixed_team", FOUR_SLEEPING, *RUNTIMES)
        # Who has said no number is told its part of the cores where others start with it.
        self.assert_holds("fixed_team", SLEEPING, *RUNTIMES, (*RUNTIMES[0], "--regions=tune"),
                          at_once=False)

    def test_preserves_threadprivate_data_across_narrow_products(self):  # fault: F51
        """E3SM-Project/E3SM#5319, 3343/edge#13: a narrower team of libgomp's ends threads, and
        with them what the next region would find there."""
        self.assert_holds("data_of_team", FOUR_SLEEPING, *RUNTIMES)


AFFINITY_OF_WORKERS = """
import multiprocessing, os, sys
import numpy
numbers = numpy.random.default_rng(1).integers(-2, 3, (256, 256)) * 1.0

def work(unit):
    before = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, [unit])
    found = {float((numbers @ numbers).sum()) for _ in range(300)}
    return before, sorted(os.sched_getaffinity(0)), found

if __name__ == "__main__":
    units = sorted(os.sched_getaffinity(0))
    [float((numbers @ numbers).sum()) for _ in range(600)]
    print(units == sorted(os.sched_getaffinity(0)), units)
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            print(pool.map(work, [units[0], units[-1]], 1))
"""


class OwnBinding(Situation):
    def test_keeps_threads_bound_by_program(self):
        """As ONNX Runtime does (ROCm/AMDMIGraphX#4496); a lease must not move them."""
        command = [PROGRAMS / "binds_itself", REGIONS]
        for _ in self.assert_as_untouched(command, SLEEPING, *RUNTIMES):
            pass

    def test_keeps_workers_bound_by_themselves(self):
        """pytorch/pytorch#28389, #102269 and ContinuumIO/anaconda-issues#12022: workers begin
        where their parent may run, and stay where they put themselves."""
        script = self.space.dir / "workers.py"
        script.write_text(AFFINITY_OF_WORKERS)
        env = {**SLEEPING, **blas("openblas-pthread")}
        untouched = self.space.untouched([PYTHON, script], env)
        self.assertEqual(0, untouched.code, untouched)
        self.assert_same_run(untouched, self.space.launched([PYTHON, script], env=env))
