#!/usr/bin/python3
"""The demo's last screen says what was measured, and stays honest when there is no gain."""

import sys
import unittest
from dataclasses import replace

import tree

sys.path.insert(0, str(tree.source_root() / "tools"))
import demo_table  # noqa: E402
from demo_table import Factor, Figures  # noqa: E402

OP = {"width": 2, "default_width": 2}
REPORT = {
    "openmp_runtime": "libomp",
    "wait_policy": "1ms",
    "launch_plan": "openmp=llvm wait=1ms blas=follow heap=256MiB",
    "ops": [OP, OP, {"width": 1, "default_width": 2}],
}
# Of a run on two cores.
FIGURES = Figures(
    machine="2 cores (AMD EPYC), PyTorch 1.13.0a0 (by itself 1 thread), BLAS openblas-pthread",
    names=["lstm", "dcgan", "resnet50"],
    untouched={"lstm": 2.82, "dcgan": 2.16, "resnet50": 0.6},
    tuned={"lstm": 5.06, "dcgan": 3.1, "resnet50": 1.66},
    leases={"lstm": 1.0, "dcgan": 0.5, "resnet50": 0.5},
    killed="lstm",
    freed_seconds=0.013,
    survivors={"dcgan": 5.1, "resnet50": 2.9},
    survivor_leases={"dcgan": 1.0, "resnet50": 1.0},
    alone={"lstm": 9.36, "dcgan": 3.91, "resnet50": 1.69},
    alone_tuned={"lstm": 9.72, "dcgan": 5.98, "resnet50": 3.2},
    factors={
        "lstm": Factor(1.04, 0.98, 1.1),
        "dcgan": Factor(1.53, 1.4, 1.6),
        "resnet50": Factor(1.89, 1.7, 2.0),
    },
    reports={"lstm": REPORT, "dcgan": REPORT, "resnet50": {}},
    fewest_steps=9,
)


def text(**changes):
    return "\n".join(demo_table.lines(replace(FIGURES, **changes), "/results"))


class SummaryScreen(unittest.TestCase):
    def test_fits_terminal(self):
        shown = text().splitlines()
        self.assertLessEqual(len(shown), 25)
        self.assertLessEqual(max(map(len, shown)), 100)

    def test_prints_rates_cores_and_factors(self):
        self.assertRegex(text(), r"lstm +2\.82 +5\.06 +1 +killed +9\.36 +9\.72 +1\.04 \[0\.98, 1")
        self.assertRegex(text(), r"dcgan +2\.16 +3\.10 +0\.5 +5\.10 +1 +3\.91 +5\.98 +1\.53 \[1")

    def test_prints_weighted_speedup(self):
        self.assertRegex(text(), r"weighted speed-up +1\.21 +2\.32\n")
        self.assertIn("optile gets 1.92 times as much done", text())
        self.assertIn("alone under optile it is 1.56", text().replace("\n  ", " "))

    def test_reports_no_gain_and_loss_side_by_side(self):
        self.assertIn("no gain here: 1.00 times", text(tuned=FIGURES.untouched))
        half = {name: rate / 2 for name, rate in FIGURES.untouched.items()}
        self.assertIn("a loss here: 0.50 times", text(tuned=half))

    def test_omits_factor_of_training_without_steps(self):
        shown = text(alone={**FIGURES.alone, "lstm": 0.0})
        self.assertIn("not every training made steps", shown)
        self.assertRegex(shown, r"weighted speed-up +unknown +unknown")

    def test_names_killed_training_and_gain_of_others(self):
        self.assertIn("lstm was killed: 13 ms later the others had its cores", text())
        self.assertIn("dcgan 1.65 times as fast", text())
        self.assertIn("the daemon moved no core", text(freed_seconds=None))

    def test_prints_settings(self):
        self.assertIn(
            "lstm, dcgan: OpenMP runtime libomp, wait policy 1ms, 256MiB of heap kept, 1 of 3 ops",
            text(),
        )
        self.assertIn("resnet50: nothing seen of it", text())

    def test_reports_unfinished_search(self):
        self.assertNotIn("still", text(reports={"lstm": {**REPORT, "phase": "tuned"}}))
        shown = text(reports={"lstm": {**REPORT, "phase": "exploring"}})
        self.assertIn("1 of 3 ops narrower, still", shown)


class Verdict(unittest.TestCase):
    def test_names_every_outcome(self):
        for factor, said in (
            (Factor(1.53, 1.4, 1.6), "1.53 times as fast"),
            (Factor(1.0, 0.98, 1.03), "no gain, 1.00"),
            (Factor(1.07, 0.97, 1.12), "no gain, 1.07"),
            (Factor(0.8, 0.75, 0.85), "a loss, 0.80"),
            (Factor(1.7, 0.8, 2.4), "not clear in so few steps, 1.70"),
            (None, "too few steps to compare"),
        ):
            self.assertEqual(demo_table.verdict(factor), said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
