"""bench/auto_cells.py: what it makes of simulated steps."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["OPTILE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))

import auto_cells  # noqa: E402


def simulated(machine, network, strategy):
    return {
        "step_seconds": {"auto": 2.0, "paper": 3.0}[strategy],
        "recommendation_seconds": 8.0 if network == "lstm" else 2.0,
        "manual": {"step_seconds": 2.0},
        "description": "look-ahead of 20 rehearsed: look-ahead, core price 1",
    }


class Cells(unittest.TestCase):
    def test_give_time_relative_to_auto(self):
        one = auto_cells.cell("knl", "lstm", simulated)
        self.assertEqual((one.recommendation, one.paper, one.manual), (4.0, 1.5, 1.0))
        self.assertEqual(one.chosen, "look-ahead")
        self.assertEqual(one.least(), 1.0)

    def test_give_mean_of_ratios_per_machine(self):
        cells = [auto_cells.cell("knl", network, simulated) for network in ("lstm", "dcgan")]
        self.assertEqual(
            auto_cells.table(cells)[-1], "| `knl` | mean | 2.000 | 1.500 | 1.000 | |"
        )
        self.assertEqual(auto_cells.below_one(cells), [])

    def test_list_values_below_one(self):
        low = auto_cells.Cell("knl", "lstm", 1.2, 0.98, 1.1, "manual")
        self.assertEqual(auto_cells.below_one([low]), [low])

    def test_match_output_of_simulate(self):
        simulate = auto_cells.runner(BUILD / "bin" / "optile", ["--seed", "1"])
        one = auto_cells.cell("hybrid", "dcgan", simulate)
        self.assertGreaterEqual(one.least(), 1 - auto_cells.ROUNDING)
        self.assertNotIn("rehearsed", one.chosen)


if __name__ == "__main__":
    unittest.main()
