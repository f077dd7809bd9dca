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


class TestCounts(unittest.TestCase):
    def setUp(self) -> None:
        self.counts = test_counts.count(JUNIT)

    def test_print_one_line(self) -> None:
        self.assertEqual(self.counts.line(), "1 passed, 2 failed, 3 skipped")

    def test_count_unstartable_program_as_failure(self) -> None:
        self.assertEqual(self.counts.failed, ["bad", "no.program"])

    def test_name_reason_of_skips(self) -> None:
        self.assertEqual(
            self.counts.skipped,
            [
                ("one.core", "needs two cores"),
                ("script", "no debugger here"),
                ("off", "disabled in its source"),
            ],
        )

    def test_name_test_that_passes_alone(self) -> None:
        again = '<testsuite><testcase name="bad" status="run"/></testsuite>'
        counts = test_counts.count(JUNIT, again)
        self.assertEqual(counts.line(), "2 passed, 1 failed, 3 skipped")
        self.assertEqual(counts.again, ["bad"])

    def test_count_test_that_fails_alone_as_failure(self) -> None:
        again = '<testsuite><testcase name="bad" status="fail"/></testsuite>'
        counts = test_counts.count(JUNIT, again)
        self.assertEqual(counts.failed, ["bad", "no.program"])
        self.assertEqual(counts.again, [])

    def one_case(self, status: str, output: str) -> test_counts.Counts:
        return test_counts.count(
            f'<testsuite><testcase name="e2e.X" status="{status}">'
            f"<system-out>{output}</system-out></testcase></testsuite>"
        )

    def test_count_tests_of_unittest_class(self) -> None:
        output = (
            "test_a (m.X.test_a) ... ok\n"
            "test_b (m.X.test_b)\nWhat it is about. ... skipped 'one core only'\n"
            "test_c (m.X.test_c) ... FAIL\n"
            "test_d (m.X.test_d) ... skipped 'two cores only'\n\n"
            "=====\nFAIL: test_c (m.X.test_c) (2)\n-----\nFAIL: test_c (m.X.test_c) (3)\n\n"
            "Ran 4 tests in 0.1s\n\nFAILED (failures=2, skipped=2)\n"
        )
        counts = self.one_case("fail", output)
        self.assertEqual(counts.line(), "1 passed, 1 failed, 2 skipped")
        self.assertEqual(counts.failed, ["e2e.X.test_c"])
        self.assertEqual(
            counts.skipped,
            [("e2e.X.test_b", "one core only"), ("e2e.X.test_d", "two cores only")],
        )

    def test_count_class_crashing_after_last_test_as_failure(self) -> None:
        counts = self.one_case("fail", "Ran 3 tests in 0.1s\n\nOK\n")
        self.assertEqual(counts.line(), "2 passed, 1 failed, 0 skipped")

    def test_count_interrupted_class_as_one_failure(self) -> None:
        counts = self.one_case("fail", "test_a (m.X.test_a) ... ok\n")
        self.assertEqual(counts.line(), "0 passed, 1 failed, 0 skipped")

    def test_read_skip_reason_of_unittest(self) -> None:
        output = "test_x (t.T.test_x) ... skipped 'needs libomp5-14'\n"
        self.assertEqual(test_counts.skip_reason(output), "needs libomp5-14")


if __name__ == "__main__":
    unittest.main(verbosity=2)
