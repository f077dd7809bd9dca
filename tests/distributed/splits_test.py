"""How layers are divided over ranks, what goes where for it, and what the command is asked
(bindings/python/optile/distributed/splits/splits.py, answers.py)."""
import itertools
import random
import unittest

from parts import split_answers, splits

ALL, OWN = splits.ChannelUse.ALL, splits.ChannelUse.OWN
Split = splits.Split


def layer(name, use, reads, channels, scale=1, kind="other", elements=0):
    return splits.Layer(name, kind, use, reads, channels, scale, 8, True, elements, 4)


def made_model(ranks, rows=8):
    return splits.SplitModel([
        layer("conv", ALL, (splits.BATCH,), 6, kind="convolution", elements=60),
        layer("pool", OWN, (0,), 6, scale=4, kind="pooling"),
        layer("dense", ALL, (1,), 5, kind="dense", elements=120),
        layer("loss", splits.ChannelUse.UNKNOWN, (2,), 5, kind="loss"),
    ], rows, ranks, 3)  # fmt: skip


def made_costs(model, seed=1):
    source = random.Random(seed)
    compute = [[source.random() for _ in model.candidates(one)] for one in model.layers]
    sync = {count: splits.Link(0.1, 0.001) for count in range(2, model.ranks + 1)}
    return splits.SplitCosts(compute, sync, 0.001, splits.Link(0.05, 0.0005))


class Boxes(unittest.TestCase):
    def test_every_cell_is_computed_once_and_arrives_where_it_is_read(self):
        for ranks, rows in itertools.product((1, 2, 3, 4, 6), (8, 9)):
            model = made_model(ranks, rows)
            for read, reader in ((0, 1), (1, 2), (2, 3)):
                of_each = (model.candidates(model.layers[one]) for one in (read, reader))
                for of, to in itertools.product(*of_each):
                    with self.subTest(ranks=ranks, rows=rows, read=read, of=of, to=to):
                        self.check(model, read, reader, of, to)

    def check(self, model, read, reader, of, to):
        have, need = model.boxes(read, reader, of, to)
        whole = splits.Box(splits.Range(0, model.rows),
                           splits.Range(0, model.channels_of(read)))
        self.assertEqual(whole.cells, sum(one.cells for one in set(have)))
        moved = splits.pieces(have, need)
        for piece in moved:
            self.assertEqual(piece.box, piece.box.within(have[piece.source]))
        for rank, box in enumerate(need):
            arrived = [one.box for one in moved if one.to == rank]
            self.assertEqual(box.cells, sum(one.within(box).cells for one in arrived))
            for one, other in itertools.combinations(arrived, 2):
                self.assertEqual(0, one.within(other).cells)

    def test_what_a_rank_has_is_sent_by_nobody(self):
        model = made_model(2)
        for split in (Split(2), Split(1, 2)):
            have, need = model.boxes(0, 1, split, split)
            self.assertTrue(all(one.source == one.to for one in splits.pieces(have, need)))

    def test_copies_are_read_from_oneself_or_spread_over_their_holders(self):
        copies = [splits.Box(splits.Range(0, 4), splits.Range(0, 2))] * 2
        rows = [splits.Range(0, 2), splits.Range(2, 4)]
        need = [splits.Box(one, splits.Range(0, 2)) for one in rows]
        self.assertEqual([(0, 0), (1, 1)],
                         [one[:2] for one in splits.pieces(copies, need)])

    def test_weights_are_divided_with_channels(self):
        model = made_model(4)
        self.assertEqual((0, 1, 2, 3), splits.sharing_ranks(model, Split(4), 1))
        self.assertEqual((1, 3), splits.sharing_ranks(model, Split(2, 2), 1))
        self.assertEqual((1,), splits.sharing_ranks(model, Split(1, 4), 1))
        self.assertEqual([1.0] * 4, splits.parameter_parts(model, [Split(4)] * 4))
        by_channels = [Split(1, 4)] * 3 + [Split(4)]
        parts = splits.parameter_parts(model, by_channels)
        self.assertAlmostEqual(1.0, sum(parts))
        self.assertAlmostEqual((60 * 2 / 6 + 120 * 2 / 5) / 180, parts[0])


class Problem(unittest.TestCase):
    def test_cost_of_a_choice_is_that_of_the_command(self):
        for ranks in (2, 4):
            model = made_model(ranks)
            problem = splits.SplitProblem(model, made_costs(model))
            told = problem.file()["problem"]
            self.assertEqual([[0, 1], [1, 2], [2, 3]], told["edges"]["nodes"])
            for chosen in itertools.product(*(range(len(one)) for one in problem.candidates)):
                cost = sum(costs[one] for costs, one in zip(told["nodes"]["costs"], chosen))
                for (read, reader), costs in zip(told["edges"]["nodes"], told["edges"]["costs"]):
                    count = len(problem.candidates[reader])
                    cost += costs[chosen[read] * count + chosen[reader]]
                answer = {"objective": "strategy", "assignment": list(chosen)}
                found = split_answers.splits_of(answer, model)
                self.assertAlmostEqual(problem.estimate(found).seconds, cost / 1e9, delta=1e-7)

    def test_gradients_are_added_where_rows_are_divided(self):
        model = made_model(2)
        problem = splits.SplitProblem(model, made_costs(model))
        rows = problem.estimate([Split(2)] * 4)
        self.assertAlmostEqual(2 * 0.1 + 0.001 * 4 * 180, rows.sync)
        self.assertEqual(0, rows.transfer)
        channels = problem.estimate([Split(1, 2)] * 3 + [Split(2)])
        self.assertEqual(0, channels.sync)
        # 4 rows of 3 x 4 channels for the pooling's halves, and of 2 or 3 for the loss, 8 bytes
        # each, there and back.
        dense = 0.05 + 0.0005 * 8 * 8 * 12
        loss = 0.05 + 0.0005 * 8 * 4 * 3
        self.assertAlmostEqual(2 * (dense + loss), channels.transfer)

    def test_split_that_was_not_measured_is_not_estimated(self):
        model = made_model(4)
        problem = splits.SplitProblem(model, made_costs(model))
        self.assertIsNone(problem.estimate([Split(2)] * 3 + [Split(4)]))


class Answers(unittest.TestCase):
    def network(self, devices=2, kinds=("convolution", "pooling", "dense", "softmax"), **degrees):
        return {"devices": devices, "layers": [
            {"name": kind, "kind": kind, "degrees": degrees} for kind in kinds]}

    def refused(self, message, answer, ranks=2):
        with self.assertRaisesRegex(ValueError, message):
            split_answers.splits_of(answer, made_model(ranks))

    def test_degrees_of_a_network_are_taken(self):
        found = split_answers.splits_of(self.network(n=1, c=2, h=1, w=1), made_model(2))
        self.assertEqual([Split(1, 2)] * 3 + [Split(2)], found)
        # On fewer devices than there are ranks: the others compute the same again.
        found = split_answers.splits_of(self.network(devices=4, n=1, c=2), made_model(4))
        self.assertEqual([Split(1, 2)] * 3 + [Split(4)], found)

    def test_what_cannot_be_run_is_refused(self):
        self.refused("convolution is split by h", self.network(n=1, h=2))
        self.refused("convolution is split by w", self.network(n=1, w=2))
        self.refused("for 4 devices, and here are 2 ranks", self.network(devices=4, n=4))
        self.refused("1 convolution, 1 dense", self.network(kinds=("convolution", "dense"), n=2))
        self.refused("cannot be split by n=3", self.network(n=3))
        self.refused("has no degrees", self.network(n="2"))
        self.refused("it is no answer", {"objective": "step", "assignment": [0] * 4})
        self.refused("it is no answer", [0] * 4)
        self.refused("of 2 nodes", {"objective": "strategy", "assignment": [0, 0]})
        self.refused("layer loss has 1 splits",
                     {"objective": "strategy", "assignment": [0] * 3 + [1]})

    def test_batch_and_channels_bound_degrees(self):
        model = made_model(8, rows=4)
        candidates = model.candidates(model.layers[0])
        self.assertEqual([Split(4, 2), Split(2, 4)], candidates)
        self.assertEqual("it has 6 channels", model.refusal(model.layers[0], Split(1, 8)))
        self.assertEqual("a batch has 4 rows", model.refusal(model.layers[0], Split(8)))


if __name__ == "__main__":
    unittest.main()
