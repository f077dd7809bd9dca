"""Ranks of optile.distributed that may use the same core: what they compute is told by the time of
the processor, and not by a clock that counts others' turns.
"""
import os
import unittest

from host_programs.test_distributed import WHEEL_PYTHON, DistributedTest

WAITS = 0.1  # of each layer; two micro-batches go through two layers


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set; ./dev test "
                                   "makes one and runs this")
class DistributedSharedCores(DistributedTest):
    python = WHEEL_PYTHON
    script = "shared_core_train.py"

    def predicted(self, *options):
        """Before the first step, and behind a window of steps, which waited all the time."""
        first, then = self.reports(2, "--waits", str(WAITS), *options)[0]
        # By each rank's own clock, which another rank's waiting does not move.
        self.assertAlmostEqual(2 * WAITS, then["measured_seconds"])
        return [one["predicted_seconds"] for one in (first, then)]

    def test_waiting_is_not_computing_on_a_shared_core(self):
        for seconds in self.predicted("--cores", "0", "0"):
            self.assertGreater(seconds, 0)
            self.assertLess(seconds, WAITS)

    def test_with_a_core_for_each_rank_the_clock_tells(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core: ranks share it")
        for seconds in self.predicted("--cores", "0", "1"):
            self.assertAlmostEqual(3 * WAITS, seconds)


if __name__ == "__main__":
    unittest.main()
