#!/usr/bin/python3
"""Counts what a CTest run did, from its JUnit file, and says why tests were skipped.

    test_counts.py build/test-results.xml [build/test-results-again.xml]

The second file is of tests that failed in the first run and ran again, alone: its word counts, and
those that passed then are named. A CTest test that runs many of Python's unittest counts as that
many. The last line of the output is `N passed, N failed, N skipped`. Exit status 1 when a test
failed or could not be run at all (its program is missing); 2 when a file cannot be read.
"""

from __future__ import annotations

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from typing import List, Optional, Tuple

# How the test frameworks in use word a skip, reason last.
SKIP_REASONS = (
    re.compile(r": Skipped\n(?P<reason>[^\n\[]+)"),  # GoogleTest
    re.compile(r"\.\.\. skipped ['\"](?P<reason>.+?)['\"]$", re.MULTILINE),  # Python's unittest
    re.compile(r"^SKIP(?:PED)?: (?P<reason>.+)$", re.MULTILINE),  # a plain program
)


# The summary of Python's unittest: "Ran 7 tests in 1.2s", then "FAILED (errors=1, skipped=2)".
UNITTEST_SUMMARY = re.compile(
    r"^Ran (?P<ran>\d+) tests? in [^\n]*\n\n(?:OK|FAILED)(?: \((?P<kinds>[^)]*)\))?$",
    re.MULTILINE,
)
UNITTEST_SKIP = re.compile(
    r"^(?P<name>\w+) \([\w.]+\)(?:\n[^\n]*)? \.\.\. skipped ['\"](?P<reason>.+?)['\"]$",
    re.MULTILINE,
)
# The head of each failure's traceback; subtests of one test have the same name.
UNITTEST_FAILURE = re.compile(r"^(?:FAIL|ERROR): (?P<name>\w+) \(", re.MULTILINE)


@dataclass
class Counts:
    """What happened to every test of a run."""

    passed: int = 0
    failed: List[str] = field(default_factory=list)
    skipped: List[Tuple[str, str]] = field(default_factory=list)  # (test, reason)
    again: List[str] = field(default_factory=list)  # failed at first, passed when alone

    def line(self) -> str:
        return f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def skip_reason(output: str) -> str:
    reasons: List[str] = []
    for pattern in SKIP_REASONS:
        for match in pattern.finditer(output):
            reason = match.group("reason").strip()
            if reason and reason not in reasons:
                reasons.append(reason)
    return "; ".join(reasons) or "the test gave no reason"


def add_unittest(counts: Counts, test: str, output: str, passed: bool) -> bool:
    """Adds what unittest's own summary says; False when the output has none."""
    summary = UNITTEST_SUMMARY.search(output)
    if summary is None:
        return False
    kinds = {}
    for part in filter(None, (summary["kinds"] or "").split(", ")):
        kind, _, number = part.partition("=")
        kinds[kind] = int(number)
    ran, skipped = int(summary["ran"]), kinds.get("skipped", 0)
    named = [(f"{test}.{skip['name']}", skip["reason"]) for skip in UNITTEST_SKIP.finditer(output)]
    named += [(test, "the test gave no reason")] * (skipped - len(named))
    broken = dict.fromkeys(one["name"] for one in UNITTEST_FAILURE.finditer(output))
    failed = [f"{test}.{name}" for name in broken] or ([] if passed else [test])
    counts.passed += max(ran - skipped - len(failed), 0)
    counts.failed += failed
    counts.skipped += named[:skipped]
    return True


def count(junit_text: str, again_text: Optional[str] = None) -> Counts:
    counts = Counts()
    again = {} if again_text is None else {
        case.get("name"): case for case in ElementTree.fromstring(again_text).iter("testcase")}
    for first in ElementTree.fromstring(junit_text).iter("testcase"):
        name = first.get("name", "?")
        case = again.get(name, first)
        if case is not first and first.get("status") == "fail" and case.get("status") == "run":
            counts.again.append(name)
        skipped = case.find("skipped")
        status = case.get("status")
        output = case.findtext("system-out") or ""
        if status in ("run", "fail") and add_unittest(counts, name, output, status == "run"):
            continue
        if status == "run":
            counts.passed += 1
        elif status == "disabled":
            counts.skipped.append((name, "disabled in its source"))
        elif skipped is not None and "SKIP_" in skipped.get("message", ""):
            counts.skipped.append((name, skip_reason(output)))
        else:
            # A failure, or a test whose program could not be started.
            counts.failed.append(name)
    return counts


def main(arguments: List[str]) -> int:
    try:
        if len(arguments) not in (1, 2):
            raise ValueError("one file of CTest's, or two")
        counts = count(*(pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
                         for path in arguments))
    except (ValueError, OSError, ElementTree.ParseError) as error:
        print(f"test_counts: cannot read the result of the tests: {error}", file=sys.stderr)
        return 2
    for name, reason in counts.skipped:
        print(f"skipped: {name}: {reason}")
    for name in counts.again:
        print(f"failed beside others, passed alone: {name}")
    for name in counts.failed:
        print(f"failed: {name}")
    print(counts.line())
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
