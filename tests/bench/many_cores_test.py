"""The pure parts of bench/many_cores: what was predicted, the tables, which cores a split means."""

import os
import pathlib
import sys
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
sys.path[:0] = [str(SOURCE / "bench" / "many_cores"), str(SOURCE / "bench")]

import parts  # noqa: E402
import predictions  # noqa: E402
import steered  # noqa: E402
import tables  # noqa: E402
import together  # noqa: E402


def curve(**points):
    """kind_width=nanoseconds."""
    found = []
    for name, nanoseconds in points.items():
        kind, _, width = name.partition("_")
        found.append({"kind": kind, "width": int(width), "median_ns": nanoseconds})
    return found


# An op that is best on two of four cores, and one that wants all of them.
SEEN = [
    {"id": "a", "per_step": 3, "curve": curve(sampled_1=10.0, sampled_2=8.0, sampled_4=12.0)},
    {"id": "b", "per_step": 1, "curve": curve(sampled_1=80.0, sampled_2=44.0, sampled_4=24.0)},
]


class Predictions(unittest.TestCase):
    def test_lose_nothing_by_best_choice(self):
        told = [{"id": "a", "width": 2, "curve": []}, {"id": "b", "width": 4, "curve": []}]
        self.assertEqual(predictions.compare(told, SEEN)["loss"], 1.0)

    def test_charge_time_of_wrong_width(self):
        told = [{"id": "a", "width": 4, "curve": []}, {"id": "b", "width": 4, "curve": []}]
        found = predictions.compare(told, SEEN)
        self.assertEqual((found["ops"], found["loss"]), (2, (36 + 24) / (24 + 24)))

    def test_separate_sampled_and_predicted_points(self):
        told = [{"id": "a", "width": 2, "curve": curve(sampled_2=8.8, interpolated_1=15.0)},
                {"id": "b", "width": 4, "curve": curve(sampled_4=24.0, extrapolated_1=40.0)}]
        found = predictions.compare(told, SEEN)
        self.assertEqual(found["sampled"]["count"], 2)
        self.assertAlmostEqual(found["sampled"]["median"], 0.05)
        self.assertEqual(found["predicted"], {"count": 2, "median": 0.5, "ninth_of_ten": 0.5})

    def test_exclude_unseen_ops(self):
        told = [{"id": "c", "width": 1, "curve": curve(interpolated_1=1.0)}]
        found = predictions.compare(told, SEEN)
        self.assertEqual((found["ops"], found["loss"], found["predicted"]["count"]), (0, None, 0))
        self.assertIn("take unknown times as long", predictions.line(found))


class Splits(unittest.TestCase):
    def test_are_contiguous(self):
        self.assertEqual(steered.adjoining([0, 2, 4, 6], (1, 3)), [[0], [2, 4, 6]])


    def test_have_neighbours_one_core_apart(self):
        known = together.splits(5, 3)
        found = steered.neighbours((1, 1, 3), known)
        self.assertEqual(found, [(1, 2, 2), (2, 1, 2)])


class Sweep(unittest.TestCase):
    def test_finds_best_in_half_the_time(self):
        bench = mock.Mock(units=list(range(16)))
        now, split, tried = 0.0, (), []

        def confine(_, cores):
            nonlocal split
            split = tuple(map(len, cores))

        def window(_, seconds):
            nonlocal now
            now += seconds
            tried.append(split)
            return [split[0] ** 0.3, split[1] ** 0.5, split[2] ** 0.8]

        splits = together.splits(16, 3)
        with mock.patch.object(parts, "confine_all", confine), \
                mock.patch.object(parts, "window", window), \
                mock.patch.object(parts.time, "monotonic", lambda: now):
            found = parts.sweep(bench, [], splits, [1.0, 1.0, 1.0], 22.0)
        self.assertEqual((len(splits), len(tried)), (105, len(set(tried))))
        self.assertLess(len(tried), 60)
        best = max(splits, key=lambda one: one[0] ** 0.3 + one[1] ** 0.5 + one[2] ** 0.8)
        self.assertEqual(max(found, key=lambda one: found[one]), best)


RATIO = {"value": 1.052, "low": 0.99, "high": 1.1, "rounds": 5}
RESULT = {
    "machine": {"usable_cores": 2, "physical_cores": 2, "model": "AMD EPYC", "kernel": "6.1",
                "utc": "2026-01-01"},
    "torch": "2.11.0", "bridge": "bridge built there", "left_out": ["threads bound"],
    "parts": [
        {"kind": "single", "title": "lstm", "program": "lstm", "by_width": {"2": 9.1, "1": 6.0},
         "recommended": 9.0, "best_width": 2, "optile_to_best_uniform": RATIO,
         "optile_to_recommended": 1.06, "settled": True},
        {"kind": "several", "title": "lstm + dcgan", "programs": ["lstm", "dcgan"],
         "recommended": 0.3, "split": 1.2, "best_split": "1+1", "tried": {"1+1": 1.2},
         "splits": 1, "optile": 1.26, "optile_to_best_split": RATIO},
        {"kind": "accuracy", "title": "predicted widths", "failed": "a window\nand more"},
    ],
}  # fmt: skip


class Tables(unittest.TestCase):
    def test_give_interval_and_number_of_figures(self):
        text = "\n".join(tables.lines(RESULT))
        self.assertIn("| lstm | 2: 9.1, 1: 6 | 9 | 2 | 1.052 [0.990, 1.100] | 5 | 1.06 |", text)
        self.assertIn("| 1.200 (1+1) | 1 of 1 | 1.260 | 1.052 [0.990, 1.100] | 5 |", text)

    def test_list_missing_figures(self):
        text = "\n".join(tables.lines(RESULT))
        self.assertIn("- predicted widths: a window\n", text)
        self.assertIn("- threads bound: no time was left", text)
        self.assertNotIn("### Threads bound", text)


if __name__ == "__main__":
    unittest.main()
