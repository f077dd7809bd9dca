"""Programs that say themselves where their ops are: a C program through the header, a numpy program
through the module. Their ops are listed by name, get widths, and cost the programs nothing."""
import re
import unittest

from support import harness
from support.harness import PROGRAMS, PYTHON, SCRIPTS, EndToEndTest, blas, usable_cpus

MODULE = harness.SOURCE.parent / "bindings" / "python"
# A second or two each: what is shorter than 300 ms is over before its step is known.
STEPS = 6000
PYTHON_STEPS = 3000


class AnnotatedTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.space.start_daemon()

    def tuned(self, command, steps, env):
        """How the program ended under the launcher, and the ops of its report by name."""
        path = self.space.dir / "report.json"
        finished = self.space.launched(command, "--report", path, env=env)
        self.assertEqual(0, finished.code, finished)
        report = self.report(path)
        self.assertEqual(steps, report["steps"], report)
        return finished, report, {op["name"]: op for op in report["ops"]}


class AnnotatedC(AnnotatedTest):
    def widths(self, finished):
        found = dict(re.findall(r"^(\w+):((?: \d+)+)$", finished.stderr, re.MULTILINE))
        return {name: set(map(int, widths.split())) for name, widths in found.items()}

    def check(self, program):
        # Two threads that sleep at once: quick on a machine with other work too.
        env = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
        command = [PROGRAMS / program, STEPS]
        untouched = self.space.untouched(command, env)
        self.assertEqual(0, untouched.code, untouched)
        self.assert_same_run(untouched, self.space.launched(command, "--mode", "observe", env=env))
        self.assert_same_run(untouched, self.space.launched(command, "--mode", "off", env=env))
        finished, report, ops = self.tuned(command, STEPS, env)
        self.assert_same_run(untouched, finished)
        self.assertLessEqual({"relax", "shift"}, set(ops))
        self.assertEqual("262144", ops["relax"]["shape"])
        self.assertEqual("64x4", ops["shift"]["shape"])
        self.assertGreater(report["coverage"]["steered"], 0.3, report["coverage"])
        return untouched, finished

    def test_lists_and_steers_annotated_ops(self):
        untouched, finished = self.check("annotated")
        self.assertEqual({"relax": {2}, "shift": {2}}, self.widths(untouched))
        if usable_cpus() > 1:
            tried = self.widths(finished)
            self.assertTrue(any(found == {1, 2} for found in tried.values()), tried)

    def test_steers_ops_of_non_pie_program(self):
        self.check("annotated_no_pie")

    def test_runs_untouched_without_daemon(self):
        self.space._daemons[-1].stop()
        command = [PROGRAMS / "annotated", 20]
        env = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
        self.assert_same_run(self.space.untouched(command, env),
                             self.space.preloaded(command, env))


class AnnotatedPython(AnnotatedTest):
    def environment(self):
        return {**blas("openblas-openmp"), "PYTHONPATH": str(MODULE)}

    def test_lists_and_steers_annotated_ops(self):
        command = [PYTHON, SCRIPTS / "annotated.py", "--steps", PYTHON_STEPS]
        env = self.environment()
        bare = self.space.untouched([*command, "--without"], env)
        self.assertEqual(0, bare.code, bare)
        self.assert_same_run(bare, self.space.untouched(command, env))
        finished, report, ops = self.tuned(command, PYTHON_STEPS, env)
        self.assert_same_run(bare, finished)
        self.assertEqual("384x384", ops["large product"]["shape"])
        self.assertEqual("20x48x48", ops["small products"]["shape"])
        self.assertGreater(report["coverage"]["steered"], 0.3, report["coverage"])

    def test_never_raises_in_program(self):
        script = self.space.dir / "odd.py"
        script.write_text(
            "import optile\n"
            "for shape in [(), (1, 2), [3], 5, None, 'ab', (1.5,), (2 ** 80,), range(99), ([],)]:\n"
            "    with optile.op('odd', shape):\n"
            "        pass\n"
            "again = optile.op(b'\\xff')\n"
            "with again, again, optile.op(None):\n"
            "    optile.step()\n"
            "try:\n"
            "    with optile.op('\\udc80'):\n"
            "        raise KeyError('mine')\n"
            "except KeyError as error:\n"
            "    print(error)\n")
        env = self.environment()
        for finished in (self.space.untouched([PYTHON, script], env),
                         self.space.preloaded([PYTHON, script], env),
                         self.space.launched([PYTHON, script], env=env)):
            self.assertEqual((0, "'mine'\n"), (finished.code, finished.stdout), finished)

    def test_runs_forked_workers(self):
        script = self.space.dir / "workers.py"
        script.write_text(
            "import multiprocessing, optile\n"
            "def work(number):\n"
            "    with optile.op('work', (number,)):\n"
            "        return number * number\n"
            "if __name__ == '__main__':\n"
            "    for how in ('fork', 'spawn'):\n"
            "        with multiprocessing.get_context(how).Pool(2) as pool:\n"
            "            print(sum(pool.map(work, range(50))))\n")
        env = self.environment()
        untouched = self.space.untouched([PYTHON, script], env)
        self.assertEqual("40425\n40425\n", untouched.stdout, untouched)
        self.assert_same_run(untouched, self.space.launched([PYTHON, script], env=env))


if __name__ == "__main__":
    unittest.main()
