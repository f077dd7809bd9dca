#!/usr/bin/python3
"""The demo's table says what the reports say, and stays honest when there is no gain."""

import sys
import unittest
from typing import Any, Dict, List

import tree

sys.path.insert(0, str(tree.source_root() / "tools"))
import demo_table  # noqa: E402
from demo_table import Run  # noqa: E402


def program(milliseconds: List[float]) -> Dict[str, Any]:
    return {"step_seconds": [one / 1e3 for one in milliseconds]}


REPORT: Dict[str, Any] = {
    "steps": 8,
    "sampled_steps": 0,
    "plan_replayed": True,
    "parts": {
        "launch_plan": 3.5,
        "blas_pool": None,
        "uniform_width": 1.0,
        "width_per_op": 1.1,
        "widths": 1.1,
    },
    "openmp_runtime": "llvm",
    "wait_policy": "1ms",
    "blas": "openblas-pthread",
    "coverage": {"observed": 0.97, "steered": 0.93},
    "fallbacks": [],
    "ops": [
        {"name": "aten::addmm", "shape": "x" * 60, "width": 4, "own_width": 4, "seconds": 3e-3},
        {
            "name": "aten::tanh",
            "shape": "20x200",
            "direction": "backward",
            "width": 1,
            "own_width": 4,
            "seconds": 1e-3,
            "own_seconds": 2e-3,
            "reason": "fastest",
        },
    ],
}


class Table(unittest.TestCase):
    def runs(self, untouched: float, tuned: float, report: Dict[str, Any]) -> List[Run]:
        first = {"steps": 8, "sampled_steps": 3, "plan_replayed": False}
        return [
            Run("untouched", program([untouched] * 8), {}),
            Run("first", program([900.0] * 4 + [tuned] * 4), first, settled_half=True),
            Run("second", program([tuned] * 8), report),
        ]

    def text(self, *arguments: Any) -> str:
        return "\n".join(demo_table.lines({"BLAS": "openblas"}, self.runs(*arguments)))

    def test_what_is_in_force(self):
        self.assertNotIn("heap", demo_table.launch_line(REPORT))
        plan = "openmp=llvm wait=1ms blas=follow heap=256MiB"
        line = demo_table.launch_line({**REPORT, "launch_plan": plan})
        self.assertIn("256MiB of heap kept between steps", line)

    def test_gain(self) -> None:
        text = self.text(200.0, 50.0, REPORT)
        self.assertIn("BLAS: openblas", text)
        self.assertRegex(text, r"untouched +200 +200 to 200 +1\.00")
        self.assertRegex(text, r"first +50 +50 to 50 +4\.00 +tried widths in 3 of 8 steps")
        self.assertRegex(text, r"second +50 .* 4\.00 +tuned from the start, 0 steps")
        self.assertIn("The second run is 4.00 times as fast", text)

    def test_another_step_than_the_programs_is_said(self) -> None:
        self.assertNotIn("careful", self.text(200.0, 50.0, REPORT))
        text = self.text(200.0, 50.0, {**REPORT, "steps": 304})
        self.assertIn("optile saw 304 steps in second where the program made 8", text)

    def test_parts(self) -> None:
        text = "\n".join(demo_table.part_lines(REPORT["parts"]))
        self.assertRegex(text, r"launch plan \(.*, with the BLAS pool\) +3\.50 times")
        self.assertRegex(text, r"BLAS pool +not measured")
        self.assertRegex(text, r"a width for each op +1\.10 times")
        self.assertNotRegex(text, r"(?m)^  widths")

    def test_widths_measured_together(self) -> None:
        parts = {**REPORT["parts"], "uniform_width": None, "width_per_op": None}
        text = "\n".join(demo_table.part_lines(parts))
        self.assertRegex(text, r"(?m)^  widths +1\.10 times")
        self.assertNotIn("single width", text)

    def test_ops_that_changed_have_a_reason(self) -> None:
        text = "\n".join(demo_table.op_lines(REPORT, 4e-3))
        self.assertRegex(text, r"aten::tanh \(backward\) +20x200 +4 -> 1 +25% +2\.00 +fastest")
        self.assertNotIn("aten::addmm", text)
        self.assertIn("1 keep the program's own width", text)

    def test_no_op_changed(self) -> None:
        report = {**REPORT, "ops": REPORT["ops"][:1]}
        self.assertIn("none of 1", "\n".join(demo_table.op_lines(report, 4e-3)))

    def test_no_gain_is_said(self) -> None:
        self.assertIn("No gain here", self.text(50.0, 50.0, REPORT))

    def test_a_loss_is_said(self) -> None:
        text = self.text(50.0, 80.0, {**REPORT, "fallbacks": ["x went back"]})
        self.assertIn("A loss here", text)
        self.assertIn("x went back", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
