"""`--numerics as-untuned` computes what an untouched run does, to the last bit, also while widths
of other ops are changed; `--mode freeze` repeats itself. With Debian's PyTorch; test_wheels.py has
the same for pip's.
"""
import unittest

from support.harness import PYTHON, QUICK_BLAS, SCRIPTS, EndToEndTest, blas, usable_cpus

STEPS = 160
AS_UNTUNED = ("--numerics", "as-untuned")
# Wider than some machines: bits do not care, and there is something to narrow. Waiting threads
# sleep, as they would have to where threads outnumber cores.
WIDE = {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}


class AsUntunedNumerics(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.env = blas(QUICK_BLAS)
        self.space.start_daemon()

    def command(self, model, steps):
        return [PYTHON, SCRIPTS / "train_hashed.py", model, "--steps", str(steps)]

    def reported(self, command, *options, env):
        path = self.space.dir / f"report{len(list(self.space.dir.glob('report*.json')))}.json"
        finished = self.space.launched(command, "--report", path, *options, env=env)
        self.assertEqual(0, finished.code, finished)
        return finished, self.report(path)

    def test_keep_launch_of_untouched_run(self):
        for model in ("convolutions", "lstm"):
            command = self.command(model, 30)
            with self.subTest(model):
                untouched = self.space.untouched(command, self.env)
                self.assert_same_run(untouched,
                                     self.space.launched(command, *AS_UNTUNED, env=self.env))
        # Which matters: PyTorch alone starts with another number.
        if usable_cpus() > 1:
            tuned = self.space.launched(command, env=self.env)
            self.assertIn(f"threads {usable_cpus()}\n", tuned.stdout)
            self.assertNotIn(f"threads {usable_cpus()}\n", untouched.stdout)

    def test_hold_inside_another_launcher(self):
        command = self.command("convolutions", 20)
        untouched = self.space.untouched(command, self.env)
        inner = self.space.launcher(*AS_UNTUNED, command=command)
        self.assert_same_run(untouched,
                             self.space.launched(inner, "--openmp", "keep", env=self.env))

    def test_keep_bits_while_widths_change(self):
        """And `--mode freeze` repeats itself, from the plan of a run without such a promise."""
        env = {**self.env, **WIDE}
        for model in ("convolutions", "lstm"):
            with self.subTest(model):
                command = self.command(model, STEPS)
                untouched = self.space.untouched(command, env)
                self.assertIn("threads 4\n", untouched.stdout)
                # What it finds for any numerics must not reach the other runs.
                self.reported(command, "--strategy", "1", env=env)
                self.check_freeze(model, env)
                same, report = self.reported(command, *AS_UNTUNED, "--strategy", "1", env=env)
                self.assert_same_run(untouched, same)
                self.check_report(report)
                again, replayed = self.reported(command, *AS_UNTUNED, "--strategy", "1", env=env)
                self.assert_same_run(untouched, again)
                self.check_report(replayed)

    def check_freeze(self, model, env):
        command = self.command(model, 40)
        once = self.space.launched(command, "--mode", "freeze", env=env)
        self.assertEqual(0, once.code, once)
        self.assert_same_run(once, self.space.launched(command, "--mode", "freeze", env=env))

    def check_report(self, report):
        self.assertEqual("as-untuned", report["numerics"])
        left = [op for op in report["ops"] if "left alone: numerics" in op["reason"]]
        tuned = [op for op in report["ops"] if "left alone: numerics" not in op["reason"]]
        self.assertEqual({4}, {op["width"] for op in left}, left)
        self.assertTrue({"aten::linear", "aten::conv2d"} & {op["name"] for op in left}, left)
        self.assertTrue(tuned, report["ops"])
        # Widths were changed, in trials or by the stored plan.
        changed = any(op["width"] != 4 for op in tuned)
        self.assertTrue(report["sampled_steps"] > 0 or changed or report["plan_replayed"], report)

    def test_are_explained(self):
        self.reported(self.command("convolutions", 60), *AS_UNTUNED, env={**self.env, **WIDE})
        told = self.space.ask("explain", "aten::conv2d")
        self.assertIn("left alone: numerics", told.stdout, told)

if __name__ == "__main__":
    unittest.main()
