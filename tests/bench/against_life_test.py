"""The pure parts of bench/against_life.py: curves become a step graph, ratios get a verdict."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))

import against_life  # noqa: E402
import observed_curves  # noqa: E402
import oracle  # noqa: E402
import ratios  # noqa: E402


def op(name, per_step, **median_ms):
    curve = [
        {"kind": "sampled", "count": 5, "width": int(width[1:]), "median_ns": ms * 1e6}
        for width, ms in median_ms.items()
    ]
    return {"id": name, "name": name, "default_width": 4, "per_step": per_step, "curve": curve}


class MeasuredGraph(unittest.TestCase):
    def test_interpolates_between_measured_widths(self):
        self.assertEqual(against_life.completed({1: 4.0, 3: 2.0}, 4), [4.0, 3.0, 2.0, 2.0])
        self.assertEqual(against_life.completed({2: 5.0}, 3), [5.0, 5.0, 5.0])

    def test_orders_runs_and_keeps_rest(self):
        ops = [op("a", 2, w1=4, w4=1), op("b", 1, w4=3), op("left out", 1, w1=1)]
        graph = against_life.step_graph(ops, 0.010, 4)
        self.assertEqual([one["op"] for one in graph["instances"]], ["a", "b", "rest"])
        self.assertEqual([one["instance"] for one in graph["nodes"]], [0, 1, 0, 2])
        self.assertEqual([one.get("inputs") for one in graph["nodes"]], [None, [0], [1], [2]])
        times = graph["instances"][0]["times"]
        self.assertAlmostEqual(times["spread"][0], 4e-3)
        self.assertIsNone(times["compact"][0])
        self.assertAlmostEqual(times["compact"][3], 1e-3)
        # One measured width is no choice.
        self.assertFalse(graph["instances"][1]["tunable"])
        self.assertEqual(graph["instances"][1]["default_width"], 4)
        # 10 ms less 2 * 1 ms and 3 ms, at every width.
        rest = graph["instances"][2]["times"]
        self.assertAlmostEqual(rest["spread"][0], 5e-3)
        self.assertAlmostEqual(rest["compact"][3], 5e-3)

    def test_refuses_step_without_measurements(self):
        with self.assertRaises(against_life.RunError):
            against_life.step_graph([op("a", 1, w2=1)], 0.01, 4)


class Verdict(unittest.TestCase):
    def agrees(self, simulated, low, high):
        measured = ratios.Ratio(1.0, low, high, 15)
        return against_life.Comparison("2 threads", simulated, measured).agrees()

    def test_accepts_ten_percent_or_interval(self):
        self.assertTrue(self.agrees(1.09, 0.99, 1.01))
        self.assertFalse(self.agrees(1.11, 0.99, 1.01))
        self.assertFalse(self.agrees(0.89, 0.95, 1.01))
        self.assertTrue(self.agrees(0.80, 0.75, 1.30))


def report(step, **seconds):
    ops = [
        {"id": name, "name": name, "shape": "4x4", "per_step": 2, "own_seconds": 2 * one}
        for name, one in seconds.items()
    ]
    return {"step_seconds": {"baseline": step}, "ops": ops}


class ObservedCurves(unittest.TestCase):
    def test_have_geometric_mean_of_rounds(self):
        found = observed_curves.explanations(
            {
                4: [report(0.1, a=0.004), report(0.1, a=0.001), report(0.1, a=0.002)],
                1: [report(0.3, a=0.008, b=0.5), report(0.3, a=0.004), report(0.3, a=0.016)],
            }
        )
        self.assertEqual([(one["id"], one["default_width"]) for one in found], [("a", 4)])
        times = oracle.measured_times(found[0])
        self.assertAlmostEqual(times[4], 0.002)
        self.assertAlmostEqual(times[1], 0.008)
        graph = against_life.step_graph(found, 0.1, 4)
        self.assertEqual([one["op"] for one in graph["instances"]], ["a", "rest"])

    def test_split_time_beyond_ops_into_stretch_and_rest(self):
        sums = {1: 0.100, 2: 0.060, 4: 0.040}
        over = observed_curves.beyond(sums, {width: 1.2 * x + 0.01 for width, x in sums.items()})
        self.assertAlmostEqual(over.stretch, 1.2)
        self.assertAlmostEqual(over.rest, 0.01)
        # Never less than the ops themselves, nor less than nothing outside them.
        flat = observed_curves.beyond(sums, {1: 0.11, 2: 0.09, 4: 0.10})
        self.assertEqual(flat.stretch, 1.0)
        self.assertAlmostEqual(flat.rest, 0.3 / 3 - 0.2 / 3)
        steep = observed_curves.beyond(sums, {1: 0.2, 2: 0.1, 4: 0.05})
        self.assertEqual(steep.rest, 0.0)
        self.assertAlmostEqual(steep.stretch, 0.028 / 0.0152)

    def test_sum_and_stretch_ops_by_width(self):
        found = observed_curves.explanations(
            {2: [report(0.1, a=0.003, b=0.001)], 1: [report(0.1, a=0.005)]}
        )
        self.assertAlmostEqual(observed_curves.summed(found, 1), 2 * (0.005 + 0.001))
        longer = observed_curves.stretched(found, 1.5)
        self.assertAlmostEqual(observed_curves.summed(longer, 2), 2 * 0.004 * 1.5)

    def test_refuse_unrecognised_step(self):
        self.assertAlmostEqual(
            observed_curves.step_seconds([report(0.1), report(None), report(0.4)]), 0.2
        )
        with self.assertRaises(observed_curves.RunError):
            observed_curves.step_seconds([report(None)])


if __name__ == "__main__":
    unittest.main()
