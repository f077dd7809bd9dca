"""TensorFlow as pip installs it: its kernels are seen and steered without a change to the program,
in every way that a program runs them, and its losses stay what they were.
"""
import unittest

from support.harness import finish
from support.tensorflow import ENDLESS, PATIENCE, TensorflowTest


class TensorflowPrograms(TensorflowTest):
    def test_fit_is_seen_and_searched(self):
        losses, report = self.train(how="fit", steps=150, batch=96)
        untouched = self.untouched_losses("fit", 150, 96)
        # Sums in another order: other last bits, in the steps that try widths.
        self.assertAlmostEqual(float.fromhex(untouched[0]), float.fromhex(losses[0]), delta=1e-3)
        self.assertGreater(report["coverage"]["observed"], 0.7, report["coverage"])
        self.assertGreater(report["coverage"]["steered"], 0.6, report["coverage"])
        self.assertGreaterEqual(report["steps"], 150)
        ops = {op["name"]: op for op in report["ops"]}
        convolution = next(op for name, op in ops.items() if "Conv2DBackpropFilter" in name)
        self.assertIn("float[96,30,30,16]", convolution["shape"])
        # Trial widths ran in steps that let ops through one at a time.
        self.assertGreater(report["sampled_steps"], 0, report["decision"])
        self.assertGreater(convolution["samples"], 0, convolution)

    def test_as_untuned_keeps_every_bit(self):
        for how, steps in (("function", 100), ("session", 60)):
            with self.subTest(how):
                losses, report = self.train("--numerics", "as-untuned", how=how, steps=steps)
                self.assertEqual(self.untouched_losses(how, steps), losses)
                self.assertGreaterEqual(report["steps"], steps)

    def test_strategies_run_ops_side_by_side(self):
        # A search without a limit to what it may cost: it ends, however much slower they are here.
        losses, report = self.train("--search", "paper", "--strategy", "4", how="branches",
                                    steps=200, batch=8)
        self.assertIn("side by side by strateg", report["decision"])
        self.assert_close(self.untouched_losses("branches", 200, 8), losses)
        # The gate had its library, and nothing waited at it in vain.
        log = self.space.socket.parent / "clients.log"
        said = log.read_text() if log.exists() else ""
        self.assertNotIn("side by side", said)
        self.assertNotIn("left alone", said)

    def test_program_at_gate_outlives_daemon(self):
        program = self.start("--strategy", "3", steps=300)
        self.wait_for_phase("comparing", "tuned")
        self.daemon.kill()
        self.assertEqual(300, len(self.losses_of(finish(program, "", PATIENCE))))

    def test_session_is_seen(self):
        losses, report = self.train(how="session", steps=60)
        self.assert_close(self.untouched_losses("session", 60), losses)
        self.assertGreaterEqual(report["steps"], 60)
        self.assertGreater(report["coverage"]["observed"], 0.3, report["coverage"])

    def test_functions_in_turn_are_one_step(self):
        losses, report = self.train(how="turns", steps=120)
        self.assert_close(self.untouched_losses("turns", 120), losses)
        # Each of the two is traced by a call or two that begins no step of theirs.
        self.assertIn(report["steps"], range(118, 124))
        self.assertGreater(report["coverage"]["observed"], 0.6, report["coverage"])
        self.assertGreater(report["sampled_steps"], 0, report["decision"])

    def test_plan_is_found_again(self):
        first = self.start(steps=ENDLESS)
        self.wait_for_phase("tuned")
        self.end(first)
        _, report = self.train(how="branches", steps=60, batch=8)
        self.assertTrue(report["plan_replayed"], report["decision"])
        self.assertEqual(0, report["sampled_steps"], report["decision"])

    def test_eager_ops_are_seen(self):
        losses, report = self.train(how="eager", steps=300)
        self.assert_close(self.untouched_losses("eager", 300), losses)
        self.assertGreater(report["coverage"]["steered"], 0.2, report["coverage"])
        self.assertTrue(any("Conv2D" in op["name"] for op in report["ops"]), report["decision"])

    def test_observed_program_is_not_steered(self):
        losses, report = self.train("--mode", "observe", how="function", steps=60)
        self.assertEqual(60, len(losses))
        self.assertEqual(0, report["sampled_steps"])
        self.assertGreater(report["coverage"]["observed"], 0.5, report["coverage"])


if __name__ == "__main__":
    unittest.main()
