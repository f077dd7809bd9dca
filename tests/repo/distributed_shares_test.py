"""How rows of a batch are divided between ranks (bindings/python/optile/distributed/shares.py)."""
import importlib
import pathlib
import random
import sys
import types
import unittest

# Without the package's own __init__, which wants PyTorch.
PACKAGE = types.ModuleType("distributed_parts")
PACKAGE.__path__ = [str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python" /
                        "optile" / "distributed")]
sys.modules[PACKAGE.__name__] = PACKAGE
shares = importlib.import_module("distributed_parts.shares")
changes = importlib.import_module("distributed_parts.changes")

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

    def test_slow_rank_gets_fewer_rows(self):
        controller = shares.ShareController(2)
        self.assertTrue(controller.add(window(controller, [1, 2]), 8))
        self.assertEqual([40, 20], shares.divide(controller.shares, BATCH))
        controller.add(window(controller, [1, 2]), 16)
        change = controller.changes[0]
        self.assertTrue(change.kept)
        self.assertAlmostEqual(1.5, change.predicted, delta=0.01)
        self.assertAlmostEqual(1.5, change.measured, delta=0.01)

    def test_follows_rank_that_recovers(self):
        controller = shares.ShareController(2)
        for speeds in ([1, 1], [1, 2], [1, 2], [1, 1], [1, 1]):
            controller.add(window(controller, speeds), 0)
        self.assertEqual([30, 30], shares.divide(controller.shares, BATCH))

    def test_change_without_gain_is_taken_back(self):
        controller = shares.ShareController(2)
        before = window(controller, [1, 2])
        controller.add(before, 8)
        unchanged = shares.Window([40, 20], [1, 2], before.step_seconds)
        self.assertTrue(controller.add(unchanged, 16))
        self.assertEqual([0.5, 0.5], controller.shares)
        self.assertFalse(controller.changes[0].kept)
        self.assertIn("1.00 times as fast and not 1.50", controller.changes[0].reason)
        for step in range(changes.Thresholds().pause):
            self.assertFalse(controller.add(window(controller, [1, 2]), step))
        self.assertTrue(controller.add(window(controller, [1, 2]), 99))


if __name__ == "__main__":
    unittest.main()
