"""How rows of a batch are divided between ranks (bindings/python/optile/distributed/shares.py)."""
import random
import unittest

from parts import changes, shares

BATCH = 60


def window(controller, row_seconds, beside=0.0):
    """What ranks of these speeds would measure; `beside`: of a step, what no share changes."""
    rows = shares.divide(controller.shares, BATCH)
    longest = max(count * seconds for count, seconds in zip(rows, row_seconds))
    return shares.Window(rows, row_seconds, longest + beside)


class Divide(unittest.TestCase):
    def test_divides_all_rows(self):
        source = random.Random(1)
        for _ in range(500):
            ranks = source.randint(1, 9)
            parts = [source.random() + 1e-3 for _ in range(ranks)]
            rows = shares.divide(parts, BATCH)
            self.assertEqual(BATCH, sum(rows))
            self.assertGreaterEqual(min(rows), 1)

    def test_equal_shares_differ_by_one_row_at_most(self):
        self.assertEqual([4, 3, 3], shares.divide([1, 1, 1], 10))

    def test_rejects_batch_with_fewer_rows_than_ranks(self):
        with self.assertRaisesRegex(ValueError, "batch of 2 rows"):
            shares.divide([1, 1, 1], 2)


class Controller(unittest.TestCase):
    def test_equal_ranks_keep_equal_shares(self):
        controller = shares.ShareController(3)
        source = random.Random(2)
        for step in range(1000):
            noisy = [1 + 0.02 * source.random() for _ in range(3)]
            self.assertFalse(controller.add(window(controller, noisy), step))

    def test_slow_rank_gets_fewer_rows_when_two_windows_say_so(self):
        controller = shares.ShareController(2)
        self.assertFalse(controller.add(window(controller, [1, 2]), 7))
        self.assertTrue(controller.add(window(controller, [1, 2]), 12))
        self.assertEqual([40, 20], shares.divide(controller.shares, BATCH))
        controller.add(window(controller, [1, 2]), 19)
        change = controller.changes[0]
        self.assertTrue(change.kept)
        self.assertAlmostEqual(1.5, change.predicted, delta=0.01)
        self.assertAlmostEqual(1.5, change.measured, delta=0.01)

    def test_follows_rank_that_recovers(self):
        controller = shares.ShareController(2)
        for speeds in ([1, 1], [1, 1], [1, 2], [1, 2], [1, 2], [1, 1], [1, 1], [1, 1]):
            controller.add(window(controller, speeds), 0)
        self.assertEqual([30, 30], shares.divide(controller.shares, BATCH))

    def tried_without_gain(self):
        """Steps take as long under other shares."""
        controller = shares.ShareController(2)
        before = window(controller, [1, 2])
        controller.add(before, 7)
        self.assertTrue(controller.add(before, 12))
        unchanged = shares.Window([40, 20], [1, 2], before.step_seconds)
        for step in range(changes.Thresholds().windows - 1):
            self.assertFalse(controller.add(unchanged, step))
        self.assertTrue(controller.add(unchanged, 16))
        return controller

    def test_change_without_gain_is_taken_back(self):
        controller = self.tried_without_gain()
        self.assertEqual([0.5, 0.5], controller.shares)
        self.assertFalse(controller.changes[0].kept)
        self.assertIn("1.00 times as fast and not 1.50", controller.changes[0].reason)
        for step in range(changes.Thresholds().pause):
            self.assertFalse(controller.add(window(controller, [1, 2]), step))
        self.assertTrue(controller.add(window(controller, [1, 2]), 99))

    def test_change_that_loses_is_taken_back_at_once(self):
        controller = shares.ShareController(2)
        for step in (7, 12):
            controller.add(window(controller, [1, 2]), step)
        self.assertTrue(controller.add(shares.Window([40, 20], [1, 2], 80.0), 19))
        self.assertEqual([0.5, 0.5], controller.shares)

    def test_other_speed_ends_pause(self):
        controller = self.tried_without_gain()
        self.assertFalse(controller.add(window(controller, [1, 4]), 50))
        self.assertTrue(controller.add(window(controller, [1, 4]), 55))
        self.assertEqual([47, 13], shares.divide(controller.shares, BATCH))

    def test_other_speed_while_a_change_is_tried_is_no_reason_to_take_it_back(self):
        controller = shares.ShareController(2)
        for step in (7, 12):
            controller.add(window(controller, [1, 2]), step)
        controller.add(window(controller, [1, 2], beside=19.5), 19)  # little gain, so far
        self.assertFalse(controller.add(window(controller, [3, 2]), 24))
        self.assertTrue(controller.add(window(controller, [3, 2]), 29))
        self.assertEqual([24, 36], shares.divide(controller.shares, BATCH))
        change = controller.changes[0]
        self.assertTrue(change.kept)
        self.assertIsNone(change.measured)
        self.assertIn("speed of a rank changed", change.reason)

    def test_gain_is_told_with_the_verdict(self):
        controller = shares.ShareController(2)
        for step in (7, 12):
            controller.add(window(controller, [1, 2]), step)
        controller.add(window(controller, [1, 2], beside=19.5), 19)
        self.assertIsNone(controller.changes[0].measured)


if __name__ == "__main__":
    unittest.main()
