"""Data parallel training by optile.distributed, several ranks on this machine: the losses are those
of one process, and a rank that falls behind gets fewer rows of the batch.
"""
import json
import socket
import unittest

from support.harness import DEADLINE, PYTHON, SCRIPTS, EndToEndTest, finish


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class DistributedShares(EndToEndTest):
    def ended(self, ranks, *options):
        command = [PYTHON, SCRIPTS / "distributed_train.py", *options]
        port = str(free_port())
        started = [self.space.popen(command, {"RANK": str(rank), "WORLD_SIZE": str(ranks),
                                              "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
                   for rank in range(ranks)]
        return [finish(one, deadline=2 * DEADLINE) for one in started]

    def reports(self, ranks, *options):
        ended = self.ended(ranks, *options)
        self.assertEqual([0] * ranks, [one.code for one in ended], ended)
        return [json.loads(one.stdout) for one in ended]

    def assert_same_losses(self, expected, got):
        self.assertEqual(len(expected), len(got))
        for one, other in zip(expected, got):
            self.assertAlmostEqual(one, other, delta=1e-5 * max(1, abs(one)))

    def test_slow_rank_gets_fewer_rows(self):
        alone, = self.reports(1, "--steps", "180")
        self.assertEqual([1.0], alone["shares"])
        reports = self.reports(3, "--steps", "180", "--slow-rank", "1", "--slow-factor", "2")
        for report in reports:
            self.assertEqual(reports[0]["shares"], report["shares"])
            self.assert_same_losses(alone["losses"], report["losses"])
        for share, expected in zip(reports[0]["shares"], (0.4, 0.2, 0.4), strict=True):
            self.assertAlmostEqual(expected, share, delta=1e-6)
        change, = reports[0]["changes"]
        self.assertTrue(change["kept"])
        # The slow rank has 7 of the 32 rows in the place of 11.
        self.assertAlmostEqual(11 / 7, change["measured"], delta=1e-6)

    def test_ranks_with_other_models_are_told(self):
        for ended in self.ended(2, "--steps", "5", "--hidden", "64", "32"):
            self.assertNotEqual(0, ended.code)
            self.assertIn("the model of ranks [1] has other parameters than that of rank 0",
                          ended.stderr)


if __name__ == "__main__":
    unittest.main()
