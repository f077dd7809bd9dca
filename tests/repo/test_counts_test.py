#!/usr/bin/python3
"""The line that every test run ends with says what CTest's result says."""

import sys
import unittest

import tree

sys.path.insert(0, str(tree.source_root() / "tools"))
import test_counts  # noqa: E402

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="6" failures="2" disabled="1" skipped="2">
  <testcase name="good" status="run"><system-out>fine</system-out></testcase>
  <testcase name="bad" status="fail"><failure message=""/><system-out>oh</system-out></testcase>
  <testcase name="no.program" status="notrun">
    <skipped message="Unable to find executable"/><system-out>Unable to find</system-out>
  </testcase>
  <testcase name="one.core" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] One.Core
tests/x.cc:2: Skipped
needs two cores
[  SKIPPED ] One.Core (0 ms)</system-out>
  </testcase>
  <testcase name="script" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>SKIP: no debugger here</system-out>
  </testcase>
  <testcase name="off" status="disabled"><system-out>Disabled</system-out></testcase>
</testsuite>
"""


class Counting(unittest.TestCase):
    def setUp(self) -> None:
        self.counts = test_counts.count(JUNIT)

    def test_line(self) -> None:
        self.assertEqual(self.counts.line(), "1 passed, 2 failed, 3 skipped")

    def test_a_program_that_cannot_start_is_a_failure(self) -> None:
        self.assertEqual(self.counts.failed, ["bad", "no.program"])

    def test_skips_name_their_reason(self) -> None:
        self.assertEqual(
            self.counts.skipped,
            [
                ("one.core", "needs two cores"),
                ("script", "no debugger here"),
                ("off", "disabled in its source"),
            ],
        )

    def test_reason_of_pythons_unittest(self) -> None:
        output = "test_x (t.T.test_x) ... skipped 'needs libomp5-14'\n"
        self.assertEqual(test_counts.skip_reason(output), "needs libomp5-14")


if __name__ == "__main__":
    unittest.main(verbosity=2)
