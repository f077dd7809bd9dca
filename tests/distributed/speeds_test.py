"""How fast ranks are, by windows of steps (bindings/python/optile/distributed/speeds.py)."""
import random
import unittest

from parts import speeds


def add(estimates, *levels):
    return estimates.add(levels, [(level, 2 * level) for level in levels])


class Speeds(unittest.TestCase):
    def test_are_averaged_over_windows(self):
        estimates = speeds.SpeedEstimates(2)
        add(estimates, 1.0, 2.0)
        self.assertFalse(estimates.ready)
        add(estimates, 1.04, 2.0)
        self.assertTrue(estimates.ready)
        (first, twice), second = estimates.averages
        self.assertAlmostEqual(1.02, first)
        self.assertAlmostEqual(2.04, twice)
        self.assertEqual((2.0, 4.0), second)

    def test_one_window_is_no_change(self):
        estimates = speeds.SpeedEstimates(1)
        for level in (1.0, 1.0, 3.0, 1.0, 3.0, 1.0):
            self.assertFalse(add(estimates, level))
        self.assertEqual((1.0, 2.0), estimates.averages[0])

    def test_two_windows_that_agree_are_a_change(self):
        estimates = speeds.SpeedEstimates(2)
        for level in (1.0, 1.0, 2.0):
            self.assertFalse(add(estimates, 1.0, level))
        self.assertTrue(estimates.doubtful)
        self.assertTrue(add(estimates, 1.0, 2.02))
        self.assertFalse(estimates.doubtful)
        self.assertAlmostEqual(2.01, estimates.averages[1][0])

    def test_windows_that_do_not_agree_are_none(self):
        estimates = speeds.SpeedEstimates(1)
        for level in (1.0, 1.0, 2.0, 3.0, 5.0):
            self.assertFalse(add(estimates, level))
        self.assertTrue(add(estimates, 5.0))

    def test_what_is_usual_is_noise(self):
        """Where all windows differ by a third, a third is no other speed."""
        source = random.Random(1)
        estimates = speeds.SpeedEstimates(4)
        changed = [add(estimates, *(source.uniform(1, 1.33) for _ in range(4)))
                   for _ in range(200)]
        self.assertEqual(0, sum(changed[5:]))

    def test_noise_promises_less_with_each_window_and_more_with_each_rank(self):
        def least_gain(ranks, windows):
            source = random.Random(2)
            estimates = speeds.SpeedEstimates(ranks)
            for _ in range(windows):
                add(estimates, *(source.gauss(1, 0.02) for _ in range(ranks)))
            return estimates.least_gain
        self.assertLess(least_gain(20, 16), least_gain(20, 4))
        self.assertLess(least_gain(20, 16), least_gain(500, 16))

    def test_former_plan_has_its_own(self):
        estimates = speeds.SpeedEstimates(1)
        for level in (1.0, 1.0):
            add(estimates, level)
        estimates.begin_plan()
        self.assertFalse(estimates.ready)
        self.assertFalse(add(estimates, 7.0))
        estimates.return_to_former_plan()
        self.assertEqual((1.0, 2.0), estimates.averages[0])


if __name__ == "__main__":
    unittest.main()
