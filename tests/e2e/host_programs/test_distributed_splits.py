"""Layers divided over ranks by optile.distributed as `optile place` says: losses, weights and the
optimizer's state are those of one process.
"""
import itertools
import json
import unittest

from host_programs.test_distributed import WHEEL_PYTHON, DistributedTest
from support.harness import OPTILE

LAYERS = 22  # of VGG-16, the loss among them


@unittest.skipUnless(WHEEL_PYTHON, "no PyTorch wheel: OPTILE_WHEEL_PYTHON is not set; ./dev test "
                                   "makes one and runs this")
class DistributedSplits(DistributedTest):
    python = WHEEL_PYTHON
    script = "splits_train.py"

    def answer(self, *command):
        """What a command of `optile place` says, as a file."""
        ended = self.space.run([OPTILE, "place", *command, "--json"])
        self.assertEqual(0, ended.code, ended.stderr)
        path = self.space.dir / "answer.json"
        path.write_text(ended.stdout)
        return path

    def assignment(self, splits):
        path = self.space.dir / f"assignment{splits[0]}.json"
        path.write_text(json.dumps({"objective": "strategy", "assignment": splits}))
        return path

    def runs(self, ranks, *runs, options=()):
        """Of each run what every rank reports."""
        reports = self.reports(ranks, "--runs", *(f"{name}:{file}" for name, file in runs),
                               *options)
        self.shown = reports[0]["shown"]
        return list(zip(*(one["runs"] for one in reports)))

    def assert_trained_as(self, alone, reports):
        """Returns what rank 0 reports."""
        for report in reports:
            for what in ("losses", "weights", "buffers"):
                self.assert_close(alone[what], report[what])
            for one, other in zip(alone["states"], report["states"], strict=True):
                self.assert_close(one, other)
            self.assertEqual(reports[0]["splits"], report["splits"])
            # The program's own random numbers are as in one process, and on every rank.
            self.assertEqual(alone["drawn"], report["drawn"])
        return reports[0]

    def test_ranks_train_as_one_process(self):
        (sgd,), (adam,) = self.runs(1, ("sgd", ""), ("adam", ""))
        # What the command says of VGG-16: convolutions by rows, from the last block on by channels.
        network = self.answer("network", "--network", "vgg16", "--devices", "2")
        by_rows, mixed, by_channels = self.runs(
            2, ("sgd", self.assignment([0] * LAYERS)), ("sgd", network),
            ("adam", self.assignment([1] * (LAYERS - 1) + [0])))
        rows = self.assert_trained_as(sgd, by_rows)
        self.assertEqual({"n=2"}, set(rows["splits"].values()))
        self.assertEqual(sgd["sizes"], rows["sizes"])
        self.assertGreater(rows["predicted_seconds"], 0)
        found = self.assert_trained_as(sgd, mixed)
        self.assertEqual({"n=2", "c=2"}, set(found["splits"].values()))
        for report in mixed:
            self.assertLess(sum(report["sizes"]), sum(sgd["sizes"]))
        channels = self.assert_trained_as(adam, by_channels)
        self.assertEqual(["c=2"] * (LAYERS - 1) + ["n=2"], list(channels["splits"].values()))
        # Every weight is on one rank, and nowhere else.
        for whole, one, other in zip(adam["sizes"], *(of["sizes"] for of in by_channels)):
            self.assertEqual(whole, one + other)
        self.check_four_ranks(adam)

    def check_four_ranks(self, alone):
        # By c=2 alone two of four ranks have the same part.
        every = itertools.cycle([{"n": 4}, {"n": 2, "c": 2}, {"c": 2}, {"c": 4}])
        network = self.answer("network", "--network", "vgg16", "--devices", "4")
        told = json.loads(network.read_text())
        for layer, degrees in zip(told["layers"], every):
            layer["degrees"] = degrees
        network.write_text(json.dumps(told))
        reports, = self.runs(4, ("adam", network))
        four = self.assert_trained_as(alone, reports)
        self.assertEqual({"n=4", "n=2,c=2", "c=2", "c=4"}, set(four["splits"].values()))

    def test_found_splits_are_those_of_the_command(self):
        graph = self.space.dir / "graph.json"
        (alone,), = self.runs(1, ("sgd", ""), options=("--model", "branches"))
        self.space.start_daemon()
        reports, = self.runs(2, ("sgd", ""), options=(
            "--model", "branches", "--graph", graph, "--socket", self.space.socket))
        found = self.assert_trained_as(alone, reports)
        self.assertIn("job splits_train.py: splits of layers", self.shown)
        self.assertIn(f"{100 * found['parameter_parts'][1]:.1f} % of the weights", self.shown)
        # Statistics of a batch are of all its rows: such layers are divided by channels alone.
        self.assertEqual("c=2", found["splits"]["blocks.0.norm"])
        answer = self.answer("strategy", "--graph", graph)
        self.assertAlmostEqual(found["predicted_seconds"],
                               json.loads(answer.read_text())["cost"] / 1e9, delta=1e-6)
        reports, = self.runs(2, ("sgd", answer), options=("--model", "branches"))
        self.assertEqual(found["splits"], self.assert_trained_as(alone, reports)["splits"])

    def test_what_cannot_be_run_is_refused(self):
        for said in self.reports(2, "--refusals", self.space.dir):
            for case, message in {
                "untraceable": "torch.fx cannot trace",
                "counting": "changes its buffer 0.rows_seen",
                "in place": "works in place on what add reads, too",
                "lbfgs": "LBFGS is not known to treat each element by itself",
                "keep": "keep=True is not built",
                "held output": "is still held with its gradient function",
                "one row": "one tensor of at least 2 rows",
                "other models": "the model of ranks [1] has other parameters",
                "other batches": "ranks [1] run other layers, or have batches of another size",
                "height": "layer conv1 is split by h, whose parts would have to exchange",
                "devices": "it is for 4 devices, and here are 2 ranks",
                "degrees": "layer 0 cannot be split by c=3",
                "no answer": "it is no answer of `optile place strategy --json`",
                "other network": "it is of another model: it has the layers none",
                "other problem": "it is of another model: of 1 nodes, and here are 3",
            }.items():
                self.assertIn(message, said[case], case)


if __name__ == "__main__":
    unittest.main()
