"""Played ranks that become slow and recover, with noise: how soon the plan is that of the new
speeds, and that noise alone changes nothing."""
import statistics
import unittest

from played_ranks import PlayedShares, PlayedStages

NOISE = 0.05  # standard deviation of a pass, beside the disturbed ones
SOON = 20  # steps
NEAR = 1 / 0.9  # times the best plan's step


class Adaptation(unittest.TestCase):
    def assert_follows(self, played, slowness):
        """A rank becomes that slow in any phase of a window, and recovers."""
        for rank, phase in ((0, 60), (1, 61), (0, 62), (1, 63), (0, 64)):
            for slow in (slowness, 1.0):
                played.slowness[rank] = slow
                lost = played.run(phase)
                with self.subTest(ranks=len(played.slowness), step=played.steps, slow=slow):
                    self.assertLessEqual(statistics.fmean(lost[SOON:]), NEAR)
                    self.assertLessEqual(max(lost[SOON:SOON + 10]), NEAR)

    def test_shares_follow_rank_that_loses_half_its_speed(self):
        for ranks, seed in ((2, 1), (3, 2), (20, 4)):
            self.assert_follows(PlayedShares(ranks, seed, NOISE), 2.0)

    def test_stages_follow_rank_that_loses_half_its_speed(self):
        for ranks, seed in ((2, 1), (4, 3)):
            self.assert_follows(PlayedStages(ranks, seed, NOISE), 2.0)

    def test_stages_of_gpipe_follow(self):
        self.assert_follows(PlayedStages(2, 5, NOISE, "gpipe"), 2.0)

    def test_thousand_ranks_follow(self):
        # Were each disturbed now and then, every step would be as long as those that were.
        played = PlayedShares(1000, 1, 0.02, disturbed=0.0)
        played.run(40)
        self.assertEqual(0, played.switches)
        played.slowness[17] = 2.0
        self.assertLessEqual(max(played.run(40)[SOON:]), NEAR)
        self.assertEqual(1, played.switches)


class Noise(unittest.TestCase):
    def test_moves_no_share(self):
        for ranks in (2, 3, 20):
            for seed in range(2):
                played = PlayedShares(ranks, seed, NOISE)
                played.run(1000)
                self.assertEqual(0, played.switches, (ranks, seed))

    def test_moves_no_layer(self):
        for ranks in (2, 4):
            played = PlayedStages(ranks, ranks, NOISE)
            played.run(1000)
            self.assertEqual(0, played.switches, ranks)

    def test_twice_as_large_costs_little(self):
        for ranks in (2, 8, 20):
            played = PlayedShares(ranks, 7, 2 * NOISE)
            lost = played.run(1000)
            self.assertLessEqual(played.switches, 2)
            self.assertLess(statistics.fmean(lost), 1.01)


if __name__ == "__main__":
    unittest.main()
