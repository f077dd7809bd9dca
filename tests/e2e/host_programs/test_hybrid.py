"""Training by optile.distributed as a hybrid, four ranks on this machine: replicas of a model that
several ranks run, with the losses, weights and optimizer state of one process.
"""
import unittest

from host_programs.test_distributed import WHEEL_PYTHON, DistributedTest


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set; ./dev test "
                                   "makes one and runs this")
class DistributedHybrid(DistributedTest):
    python = WHEEL_PYTHON
    script = "hybrid_train.py"

    def assert_trains_as_one_process(self, *options, ranks=4):
        """Returns what rank 0 reported."""
        alone, = self.reports(1, *options)
        reports = self.reports(ranks, *options)
        for report in reports:
            self.assert_close(alone["losses"], report["losses"])
            self.assert_close(alone["weights"], report["weights"])
            for one, other in zip(alone["states"], report["states"], strict=True):
                self.assert_close(one, other)
            self.assertEqual(reports[0]["plans"], report["plans"])
        replicas = reports[0]["replicas"]
        # In each replica, each parameter's state is on one rank.
        every = sorted(one for report in reports for one in report["stateful"])
        self.assertEqual(sorted(alone["stateful"] * replicas), every)
        return reports[0]

    def test_stages_move_alike_in_two_replicas(self):
        report = self.assert_trains_as_one_process(
            "--steps", "60", "--micro-batches", "4", "--slow-rank", "3", "--slow-factor", "2")
        self.assertEqual((2, 2), (report["replicas"], report["model_ranks"]))
        # Rank 3 has the second stage of the second replica.
        self.assertEqual([[3], [4], [3]], report["plans"])
        self.assertEqual([True, True], [one["kept"] for one in report["changes"]])

    def test_placed_replicas_train_as_one_process(self):
        report = self.assert_trains_as_one_process(
            "--model-plan", "placement", "--optimizer", "adam", "--steps", "9")
        self.assertEqual({0, 1}, set(report["placement"].values()))
        self.assertAlmostEqual(report["predicted_seconds"], report["measured_seconds"])

    def test_number_of_ranks_is_chosen_by_measured_steps_and_epochs(self):
        # With four replicas, one epoch more than twice those of two.
        report = self.assert_trains_as_one_process(
            "--model-ranks", "auto", "--epochs", "12:1,24:1,48:3", "--steps", "9")
        choice = report["choice"]
        self.assertEqual((2, 2), (choice["replicas"], choice["model_ranks"]))
        # Each half of the layers takes half the time, which is played: nothing waits.
        self.assertAlmostEqual(2.0, choice["speedups"]["2"])
        self.assertEqual([2], choice["measured"])
        self.assertAlmostEqual(3.0, choice["over_data_parallel"])
        self.assertIn("2.00 times as fast as one (measured)", choice["because"])

    def test_what_is_no_hybrid_is_refused_by_name(self):
        self.assert_refused("model_ranks=3: 2 ranks are no whole number of replicas of 3 ranks; it "
                            "may be 1, 2", "--model-ranks", "3")
        self.assert_refused('wants model_ranks, how many ranks run one model, or "auto", and not '
                            "'many'", "--model-ranks", "many", ranks=1)
        self.assert_refused('plan="hybrid" keeps no state', "--keep", ranks=1)

    def test_delayed_updates_are_those_of_the_larger_batch(self):
        whole, = self.reports(1, "--optimizer", "adam")
        delayed, = self.reports(1, "--optimizer", "adam", "--delayed", "3")
        for what in ("losses", "weights"):
            self.assert_close(whole[what], delayed[what])
        for one, other in zip(whole["states"], delayed["states"], strict=True):
            self.assert_close(one, other)


if __name__ == "__main__":
    unittest.main()
