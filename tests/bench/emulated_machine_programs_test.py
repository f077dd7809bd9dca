"""Programs of bench/emulated_machine.py that do what a real one was seen to do."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench" / "emulated_machine"))

import programs  # noqa: E402


def instance(op, one, two, **more):
    return {"op": op, "times": {"spread": [one], "compact": [None, two]}, **more}


def recorded(instances, order):
    graph = {"instances": instances, "nodes": [{"instance": index} for index in order]}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "lstm.json")
        file.write_text(json.dumps(graph))
        return programs.recorded_program(file)


class OpLaws(unittest.TestCase):
    def seconds(self, *by_width):
        law = programs.law_of("op", [1e9 * one for one in by_width])
        return [round(law.seconds(width, 0), 6) for width in (1, 2, 4)]

    def test_pass_through_measurements(self):
        self.assertEqual(self.seconds(0.010, 0.006), [0.010, 0.006, 0.004])
        self.assertEqual(self.seconds(0.010, 0.010), [0.010, 0.010, 0.010])

    def test_charge_loss_per_thread(self):
        self.assertEqual(self.seconds(0.010, 0.011), [0.010, 0.011, 0.013])

    def test_have_at_most_linear_speedup(self):
        self.assertEqual(self.seconds(0.010, 0.004), [0.010, 0.005, 0.0025])

    def test_are_flat_for_single_width(self):
        self.assertEqual(self.seconds(0.010), [0.010, 0.010, 0.010])


class Steps(unittest.TestCase):
    def test_keep_time_inside_and_outside_ops(self):
        program = recorded(
            [
                instance("conv", 0.008, 0.004, shape="1x1"),
                instance("conv", 0.001, 0.001, shape="3x3"),
                instance("add", 0.0001, 0.0001),
                instance("rest", 0.010, 0.010, tunable=False),
            ],
            [0, 1, 1, 1, 1, 0, 2, 3],
        )
        self.assertEqual(program.name, "lstm")
        seconds = {}
        for op in program.ops:
            seconds[op.name] = seconds.get(op.name, 0) + op.seconds(2, 0)
        self.assertEqual(set(seconds), {"", "conv 1x1", "conv 3x3", "other ops"})
        for name, expected in (
            ("", 0.010), ("conv 1x1", 0.008), ("conv 3x3", 0.004), ("other ops", 0.0001)
        ):  # fmt: skip
            self.assertAlmostEqual(seconds[name], expected, places=6)

    def test_merge_short_executions(self):
        program = recorded([instance("conv", 0.001, 0.0005, shape="1x1")], [0] * 8)
        convs = [op for op in program.ops if op.name]
        self.assertEqual([op.name for op in convs], ["conv 1x1"] * 2)
        self.assertAlmostEqual(convs[0].seconds(1, 0), 0.004)

    def test_have_best_width_by_law(self):
        program = programs.Program("p", [programs.Op("a", 0, 8_000_000, 0, 2_000_000)])
        self.assertEqual(programs.at_best(program, 8, 0)[1], 2)


if __name__ == "__main__":
    unittest.main()
