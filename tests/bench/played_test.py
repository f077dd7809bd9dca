"""bench/played: what a step's kernels compute, and which wait for which."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench" / "played"))

import kernels  # noqa: E402
import run  # noqa: E402

LARGE = [2, 64, 64]


def node(name, op="Mul", inputs=(), takes=(LARGE, LARGE), gives=(LARGE,)):
    return {"name": name, "op": op, "inputs": list(inputs), "takes": list(takes),
            "gives": list(gives)}  # fmt: skip


class Work(unittest.TestCase):
    def test_grows_with_the_batch(self):
        batch = kernels.Batch({2: 64})
        flops, size = kernels.work_of(node("a"), batch)
        self.assertEqual((flops, size), (64 * 64 * 64, 3 * 4 * 64 * 64 * 64))
        self.assertEqual(batch.grown([2, 2]), [64, 2])
        self.assertEqual(kernels.Batch({2: 20}, anywhere=True).grown([3, 2]), [3, 20])
        self.assertEqual(batch.grown([]), [])

    def test_of_convolutions_counts_the_filter(self):
        one = kernels.Batch({})
        image, weights, result = [8, 32, 32, 3], [5, 5, 3, 64], [8, 16, 16, 64]
        flops = 2 * 8 * 16 * 16 * 64 * 5 * 5 * 3
        forward = node("a", "Conv2D", (), [image, weights], [result])
        filters = node("b", "Conv2DBackpropFilter", (), [image, [4], result], [weights])
        inputs = node("c", "Conv2DBackpropInput", (), [[4], weights, result], [image])
        for convolution in (forward, filters, inputs):
            self.assertEqual(kernels.work_of(convolution, one)[0], flops)

    def test_of_products_counts_what_both_share(self):
        product = node("a", "MatMul", (), [[100, 30], [100, 70]], [[30, 70]])
        self.assertAlmostEqual(kernels.work_of(product, kernels.Batch({}))[0], 2 * 30 * 70 * 100)

    def test_of_optimisers_counts_what_is_kept(self):
        adam = node("a", "ResourceApplyAdam", (), [[], [64, 100]], [])
        self.assertEqual(kernels.work_of(adam, kernels.Batch({}))[1], 4 * 6400 * 7)

    def test_too_small_is_none(self):
        small = node("a", "Mul", (), [[2, 3]], [[2, 3]])
        self.assertIsNone(kernels.work_of(small, kernels.Batch({2: 64})))
        self.assertIsNone(kernels.work_of(node("a", "Identity"), kernels.Batch({})))

    def test_unknown_shape_of_a_product_is_an_error(self):
        with self.assertRaises(ValueError):
            kernels.work_of(node("a", "MatMul", (), [[8, 8], None], [[8, 8]]), kernels.Batch({}))


class Graph(unittest.TestCase):
    def test_what_is_not_played_passes_on(self):
        nodes = [
            node("last", inputs=["view", "first"]),
            node("first"),
            node("view", "Reshape", ["second"]),
            node("second", "AddV2", ["first"]),
            node("folded", inputs=["second"]),
        ]
        recorded = "first\tMul#1#\t3\nsecond\tAddV2#2#\t3\nview\tReshape#\t3\nlast\tMul#3#\t3\n"
        played = kernels.played_nodes(nodes, kernels.read_kernels(recorded), kernels.Batch({}))
        self.assertEqual([one.kernel for one in played], ["Mul#1#", "AddV2#2#", "Mul#3#"])
        self.assertEqual([one.inputs for one in played], [(), (0,), (0, 1)])
        self.assertEqual([one.op for one in played], ["Mul", "Add", "Mul"])
        self.assertEqual(played[1].line(), "AddV2#2#\tAdd\t8192 98304 0")


def measured(name, seconds, losses=(), **more):
    return run.Measured(name, list(seconds), list(losses), corunning=1.5, **more)


class Runs(unittest.TestCase):
    def test_other_losses_are_an_error(self):
        first = measured("1, 68", [1.0], [2.0, 1.0])
        last_bits = measured("2, 34", [1.0], [2.0, 1.0005, 9.0])
        self.assertAlmostEqual(run.check_losses([first, last_bits]), 0.0005)
        with self.assertRaises(run.RunError):
            run.check_losses([first, measured("2, 34", [1.0], [2.0, 1.1])])

    def test_gains_of_the_paper_are_over_the_recommendation(self):
        self.assertAlmostEqual(run.paper_gain("dcgan", "s12"), 1.12)
        self.assertAlmostEqual(run.paper_gain("dcgan", "s123"), 1.12 * 1.15)
        self.assertIsNone(run.paper_gain("dcgan", "s1"))

    def test_rows_give_error_and_gain(self):
        base = measured("1, 68", [2.0, 2.0, 2.1], predicted=2.0)
        fast = measured("2, 34", [1.0, 1.0, 1.0], predicted=1.25, paper=1.3)
        row = run.rows([base, fast], base, 2.0)[1]
        self.assertTrue(row.startswith("| 2, 34 | 1000 | 1250 | -20.0 % | 2.000 ["), row)
        self.assertTrue(row.endswith("| 1.60 | 1.30 | 1.50 | 3 |"), row)


if __name__ == "__main__":
    unittest.main()
