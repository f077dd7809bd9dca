#!/usr/bin/python3
"""What the demo shows while it runs, and how it counts the steps of a training."""

import io
import pathlib
import sys
import tempfile
import time
import unittest

import tree

sys.path.insert(0, str(tree.source_root() / "tools"))
import demo_screen  # noqa: E402
from demo_training import Pace, StepCounts, Training, TrainingError, times_as_fast  # noqa: E402

SAYS_STEPS = "import sys, time\nfor i in range(1, 4): print(f'step {i}/9 loss 1', flush=True)\n"


class ProgressLine(unittest.TestCase):
    def test_has_bar_and_remaining_time(self):
        line = demo_screen.drawn_line("side by side", 0.5, 83.4, {"lstm": 5.06}, 100)
        self.assertEqual(
            line, "side by side                 [########........] 1:23 left  lstm 5.1"
        )

    def test_fits_terminal_at_both_ends(self):
        for part in (-1.0, 2.0):
            line = demo_screen.drawn_line("x" * 30, part, -3.0, {"lstm": 1.0}, 60)
            self.assertLess(len(line), 60)
            self.assertIn("0:00", line)

    def test_prints_plain_text(self):
        self.assertEqual(
            demo_screen.plain_line("lstm alone, optile", 5.2, 14.0, {"lstm": 9.72}),
            "lstm alone, optile             5 of 14 s  steps/s: lstm 9.7",
        )

    def test_has_no_escapes_in_plain_text(self):
        output = io.StringIO()
        screen = demo_screen.Screen(10.0, output)
        screen.begin("side by side", 5.0)
        screen.show({"lstm": 1.0})
        screen.finish("steps/s: lstm 1.0")
        self.assertEqual(output.getvalue(), "side by side                 steps/s: lstm 1.0\n")


class StepCountsTest(unittest.TestCase):
    def test_give_rate_between_two_times(self):
        counts = StepCounts()
        for now, steps in ((1.0, 1), (2.0, 3), (2.1, 3), (4.0, 7), (9.0, 9)):
            counts.add(now, steps)
        pace = counts.between(1.5, 5.0)
        self.assertEqual((pace.steps, pace.rate()), (4, 2.0))

    def test_include_long_step_from_its_start(self):
        counts = StepCounts([(1.0, 1), (5.0, 2)])
        self.assertEqual(counts.between(4.0, 6.0).rate(), 0.25)
        self.assertEqual(counts.between(2.0, 4.0).rate(), 0.0)

    def test_give_factor_with_interval(self):
        factor, low, high = times_as_fast(Pace([(1.0, 2)] * 5), Pace([(1.0, 3)] * 5))
        self.assertEqual((factor, low, high), (1.5, 1.5, 1.5))
        self.assertIsNone(times_as_fast(Pace([(1.0, 2)] * 2), Pace([(1.0, 3)] * 5)))


class TrainingProcess(unittest.TestCase):
    def run_to_its_end(self, program):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "a.log")
            training = Training("a", [sys.executable, "-c", program], {}, log)
            try:
                while True:
                    training.look()
                    time.sleep(0.001)
            finally:
                training.end(1.0)
                self.made = training.made

    def test_reports_early_exit_with_its_log(self):
        with self.assertRaisesRegex(TrainingError, r"training a ended with status 3; .*/a\.log:\n"):
            self.run_to_its_end(SAYS_STEPS + "sys.exit(3)")
        self.assertEqual(self.made.counts[-1][1], 3)

    def test_reports_signal_name(self):
        with self.assertRaisesRegex(TrainingError, "ended by signal 9"):
            self.run_to_its_end("import os; os.kill(os.getpid(), 9)")


if __name__ == "__main__":
    unittest.main(verbosity=2)
