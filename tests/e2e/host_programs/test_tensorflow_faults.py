"""What goes wrong in a TensorFlow program, or is done to it, while its kernels wait for their turn
or for admission: the program never notices.
"""
import itertools
import unittest

from support.harness import SCRIPTS, wait_until
from support.tensorflow import ENDLESS, PATIENCE, PYTHON, TensorflowTest

CHANGES = 1000


class TensorflowFaults(TensorflowTest):
    def test_failing_kernels(self):
        untouched = self.untouched_losses("errors", 150, 8)
        losses, report = self.train("--strategy", "4", how="errors", steps=150, batch=8)
        self.assert_close(untouched, losses)
        self.assertGreater(report["steps"], 150)

    def test_generated_models(self):
        command = [PYTHON, SCRIPTS / "tensorflow_generated.py", "--models", "4", "--steps", "60"]
        untouched = self.space.run(command, deadline=PATIENCE)
        # A search without a limit to what it may cost: all of them get to the gate.
        steered = self.space.launched(command, "--search", "paper", "--strategy", "4",
                                      deadline=PATIENCE)
        self.assertEqual((0, 0), (untouched.code, steered.code), steered)
        for before, after in zip(untouched.stdout.splitlines(), steered.stdout.splitlines(),
                                 strict=True):
            self.assert_close(before.split()[3:], after.split()[3:])

    def test_forked_children(self):
        untouched = self.untouched_losses("forks", 80, 8)
        losses, report = self.train("--strategy", "4", how="forks", steps=80, batch=8)
        self.assert_close(untouched, losses)
        self.assertGreaterEqual(report["steps"], 80)

    def test_dataset_that_forks(self):
        losses, report = self.train("--strategy", "4", how="dataset", steps=100, batch=8)
        self.assertEqual(100, len(losses))
        self.assertLess(float.fromhex(losses[-1]), float.fromhex(losses[0]))
        self.assertGreaterEqual(report["steps"], 95)
        self.assertGreater(report["coverage"]["observed"], 0.1, report["coverage"])

    def test_generated_graphs(self):
        command = [PYTHON, SCRIPTS / "tensorflow_graphs.py", "--graphs", "5", "--runs", "24"]
        steered = self.space.launched(command, "--search", "paper", "--strategy", "4",
                                      deadline=PATIENCE)
        self.assertEqual(0, steered.code, steered)
        self.assertEqual(5, steered.stdout.count("model "), steered)

    def wait_for_steps(self, count, what):
        made = self.client()["steps"]
        wait_until(lambda: self.client()["steps"] >= made + count, what, PATIENCE)

    def test_lease_cut_to_one_core(self):
        program = self.start("--strategy", "3", steps=ENDLESS)
        number = self.wait_for_phase("comparing", "tuned")
        for cores in ("0", "0-1", "1"):
            self.assertEqual(0, self.space.ask("pin", number, cores).code)
            self.wait_for_steps(8, f"steps on cores {cores}")
        self.end(program)

    def test_detachments(self):
        program = self.start("--strategy", "3", steps=ENDLESS)
        number = self.wait_for_phase("exploring", "comparing", "tuned")
        for verb in itertools.islice(itertools.cycle(("detach", "attach")), CHANGES):
            asked = self.space.ask(verb, number)
            self.assertEqual(0, asked.code, asked)
        self.wait_for_steps(8, "steps after the last change")
        self.end(program)


if __name__ == "__main__":
    unittest.main()
