"""Training by optile.distributed, several ranks on this machine: the losses are those of one
process, and a rank that falls behind gets fewer rows of the batch, or fewer layers of a pipeline.
"""
import json
import os
import socket
import unittest

from support.harness import BUILD, DEADLINE, OPTILE, PYTHON, SCRIPTS, EndToEndTest, finish

WHEEL_PYTHON = os.environ.get("OPTILE_WHEEL_PYTHON", "")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class DistributedTest(EndToEndTest):
    python = PYTHON
    script = ""

    def ended(self, ranks, *options, with_optile=True):
        command = [self.python, SCRIPTS / self.script, *options]
        port = str(free_port())
        path = f"{BUILD / 'bin'}:{os.environ['PATH']}" if with_optile else "/usr/bin:/bin"
        started = [self.space.popen(command, {"RANK": str(rank), "WORLD_SIZE": str(ranks),
                                              "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                                              "PATH": path})
                   for rank in range(ranks)]
        return [finish(one, deadline=2 * DEADLINE) for one in started]

    def reports(self, ranks, *options):
        ended = self.ended(ranks, *options)
        self.assertEqual([0] * ranks, [one.code for one in ended], ended)
        return [json.loads(one.stdout) for one in ended]

    def assert_refused(self, message, *options, ranks=2):
        for ended in self.ended(ranks, "--steps", "2", *options):
            self.assertNotEqual(0, ended.code)
            self.assertIn(message, ended.stderr)

    def assert_close(self, expected, got):
        self.assertEqual(len(expected), len(got))
        for one, other in zip(expected, got):
            self.assertAlmostEqual(one, other, delta=1e-5 * abs(one))

    def assert_same_losses(self, expected, got):
        self.assertEqual(len(expected), len(got))
        for one, other in zip(expected, got):
            self.assertAlmostEqual(one, other, delta=1e-5 * max(1, abs(one)))


class DistributedShares(DistributedTest):
    script = "distributed_train.py"

    def test_slow_rank_gets_fewer_rows(self):
        alone, = self.reports(1, "--steps", "60")
        self.assertEqual([1.0], alone["shares"])
        reports = self.reports(3, "--steps", "60", "--slow-rank", "1", "--slow-factor", "2")
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


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set; ./dev test "
                                   "makes one and runs this")
class DistributedPipeline(DistributedTest):
    python = WHEEL_PYTHON
    script = "pipeline_train.py"

    def assert_same_training(self, ranks, *options, alone=None):
        """Returns what one of the ranks reported, of those of a pipeline."""
        if alone is None:
            alone, = self.reports(1, *options)
        reports = self.reports(ranks, *options)
        for report in reports:
            self.assert_close(alone["losses"], report["losses"])
            self.assert_close(alone["weights"], report["weights"])
            self.assertEqual(alone["rows_seen"], report["rows_seen"])
            for one, other in zip(alone["states"], report["states"], strict=True):
                self.assert_close(one, other)
            self.assertEqual(reports[0]["boundaries_seen"], report["boundaries_seen"])
        every = [one for report in reports for one in report["stateful"]]
        self.assertEqual(alone["stateful"], every)
        return reports[0]

    def assert_followed_slow_rank(self, report, equal, slow):
        """Away from a rank that was slow for a while, and back."""
        self.assertEqual([equal, slow, equal],
                         [one for number, one in enumerate(report["boundaries_seen"])
                          if number == 0 or one != report["boundaries_seen"][number - 1]])
        self.assertEqual([True, True], [one["kept"] for one in report["changes"]])
        self.assertEqual([slow, equal], [one["after"]["boundaries"] for one in report["changes"]])

    def test_two_ranks_train_as_one_process(self):
        report = self.assert_same_training(
            2, "--micro-batches", "4", "--slow-rank", "1", "--slow-factor", "2", "--layers", "8")
        self.assert_followed_slow_rank(report, [4], [6])

    def test_three_ranks_train_as_one_process(self):
        report = self.assert_same_training(
            3, "--micro-batches", "6", "--slow-rank", "1", "--slow-factor", "2", "--optimizer",
            "adam", "--schedule", "gpipe", "--model", "told")
        self.assert_followed_slow_rank(report, [3, 6], [4, 5])

    def test_number_of_micro_batches_is_chosen(self):
        report = self.assert_same_training(2, "--steps", "12")
        # Of 24 rows: time is that of rows alone, so that small ones fill the pipeline best.
        self.assertEqual(12, report["micro_batches"])
        self.assertGreater(report["predicted_seconds"], report["measured_seconds"])

    def test_stages_of_any_layers_train_as_one_process(self):
        options = ["--steps", "12", "--model", "mixed", "--micro-batches", "3"]
        alone, = self.reports(1, *options)
        for boundary in (1, 5):
            with self.subTest(boundary):
                report = self.assert_same_training(2, *options, "--boundaries", str(boundary),
                                                   alone=alone)
                self.assertEqual([[boundary]] * 12, report["boundaries_seen"])

    def test_model_without_layers_is_refused(self):
        self.assert_refused("Hidden is neither", "--model", "hidden", ranks=1)

    def test_batch_that_cannot_be_divided_is_refused(self):
        self.assert_refused("5 micro-batches: a batch of 24 rows", "--micro-batches", "5")


class DistributedPipelineWithoutPipelining(DistributedTest):
    """Debian's PyTorch."""

    script = "pipeline_train.py"

    def test_is_refused(self):
        ended, = self.ended(1, "--steps", "2")
        self.assertNotEqual(0, ended.code)
        self.assertIn("a pipeline needs torch.distributed.pipelining", ended.stderr)


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set; ./dev test "
                                   "makes one and runs this")
class DistributedPlacement(DistributedTest):
    """Operators on ranks, as `optile place` says."""

    python = WHEEL_PYTHON
    script = "placement_train.py"

    def assert_trains_as_one_process(self, ranks, *options, optimizer="sgd"):
        reports = self.reports(ranks, "--optimizer", optimizer, *options)
        steps = str(len(reports[0]["losses"]))
        alone, = self.reports(1, "--optimizer", optimizer, "--steps", steps)
        for report in reports:
            for what in ("losses", "weights", "buffers"):
                self.assert_close(alone[what], report[what])
            for one, other in zip(alone["states"], report["states"], strict=True):
                self.assert_close(one, other)
            self.assertEqual(reports[0]["placements"], report["placements"])
        # Each parameter's state is on the rank that trains it, and nowhere else.
        every = [one for report in reports for one in report["stateful"]]
        self.assertEqual(alone["stateful"], sorted(every))
        return reports[0]

    def assert_followed_slow_rank(self, report, slow):
        """Work left the rank while it was slow, and came back."""
        slowed, recovered = report["changes"]
        self.assertTrue(slowed["kept"] and recovered["kept"], report["changes"])
        self.assertEqual(list(report["placement"].values()), recovered["after"]["owners"])
        for change in (slowed, recovered):
            self.assertGreater(change["predicted"], 1.2)
            self.assertGreater(change["measured"], 1.2)
        self.assertGreater(slowed["whole_seconds"][slow], 2 * slowed["whole_seconds"][0])
        self.assertLess(recovered["whole_seconds"][slow], 1.1 * recovered["whole_seconds"][0])

    def test_two_ranks_train_as_one_process(self):
        report = self.assert_trains_as_one_process(2, "--slow-rank", "1", "--slow-factor", "3")
        self.assert_followed_slow_rank(report, 1)
        # All that takes time can be halved.
        self.assertAlmostEqual(0.5 * report["alone_seconds"][0], report["predicted_seconds"])
        self.assertAlmostEqual(report["predicted_seconds"], report["measured_seconds"])

    def test_rank_too_slow_for_anything_comes_back(self):
        report = self.assert_trains_as_one_process(
            3, "--slow-rank", "1", "--slow-factor", "100", optimizer="adam")
        self.assertEqual([True, True], [one["kept"] for one in report["changes"]])
        self.assertLess(report["predicted_seconds"], 0.5 * report["alone_seconds"][0])

    def test_assisted_ranks_train_as_one_process(self):
        report = self.assert_trains_as_one_process(
            2, "--slow-rank", "1", "--slow-factor", "3", "--assisted")
        self.assertTrue(report["assistants"]["run"])
        self.assertGreater(report["changes"][0]["measured"], 1.1)
        self.assert_refused("where no placement is given", "--assisted", "--placement", "any.json")

    def test_placement_of_the_command_is_run_and_stays(self):
        graph, answer = self.space.dir / "graph.json", self.space.dir / "answer.json"
        self.reports(2, "--steps", "1", "--graph", graph)
        placed = self.space.run([OPTILE, "place", "step", "--graph", graph, "--links", "edge",
                                 "--method", "list", "--json"])
        self.assertEqual(0, placed.code, placed.stderr)
        answer.write_text(placed.stdout)
        report = self.reports(2, "--steps", "40", "--placement", answer)[0]
        found = json.loads(placed.stdout)
        chosen = dict(zip(found["nodes"], found["assignment"]))
        self.assertEqual([{name: chosen[name] for name in report["placement"]}],
                         report["placements"])
        # The command simulates the same step, with another order of what is ready at once.
        self.assertLessEqual(report["predicted_seconds"], found["cost"] / 1e3 * (1 + 1e-9))
        answer.write_text(json.dumps({**found, "nodes": found["nodes"][::-1][:-1] + ["other"]}))
        self.assert_refused("it is of another model", "--placement", answer)
        self.assert_refused("absent.json", "--placement", "absent.json")

    def test_models_that_cannot_be_placed_are_refused(self):
        self.assert_refused("operator item gives a float", "--model", "scalar")
        self.assert_refused("the model of ranks [1] has other parameters", "--width", "8", "16")
        self.assert_refused("a batch of shapes [(5, 8), (5,)], where", "--rows", "5")

    def test_without_the_command_says_so(self):
        for ended in self.ended(2, "--steps", "2", with_optile=False):
            self.assertIn("the command optile, which is not in PATH", ended.stderr)


if __name__ == "__main__":
    unittest.main()
