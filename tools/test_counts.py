#!/usr/bin/python3
"""Counts what a CTest run did, from its JUnit file, and says why tests were skipped.

    test_counts.py build/test-results.xml

The last line of the output is `N passed, N failed, N skipped`. Exit status 1 when a test failed or
could not be run at all (its program is missing); 2 when the file cannot be read.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from typing import List, Tuple

# How the test frameworks in use word a skip, reason last.
SKIP_REASONS = (
    re.compile(r": Skipped\n(?P<reason>[^\n\[]+)"),  # GoogleTest
    re.compile(r"\.\.\. skipped ['\"](?P<reason>.+?)['\"]$", re.MULTILINE),  # Python's unittest
    re.compile(r"^SKIP(?:PED)?: (?P<reason>.+)$", re.MULTILINE),  # a plain program
)


@dataclass
class Counts:
    """What happened to every test of a run."""

    passed: int = 0
    failed: List[str] = field(default_factory=list)
    skipped: List[Tuple[str, str]] = field(default_factory=list)  # (test, reason)

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


def count(junit_text: str) -> Counts:
    counts = Counts()
    for case in ElementTree.fromstring(junit_text).iter("testcase"):
        name = case.get("name", "?")
        skipped = case.find("skipped")
        if case.get("status") == "run":
            counts.passed += 1
        elif case.get("status") == "disabled":
            counts.skipped.append((name, "disabled in its source"))
        elif skipped is not None and "SKIP_" in skipped.get("message", ""):
            counts.skipped.append((name, skip_reason(case.findtext("system-out") or "")))
        else:
            # A failure, or a test whose program could not be started.
            counts.failed.append(name)
    return counts


def main(arguments: List[str]) -> int:
    try:
        (path,) = arguments
        with open(path, encoding="utf-8", errors="replace") as file:
            counts = count(file.read())
    except (ValueError, OSError, ElementTree.ParseError) as error:
        print(f"test_counts: cannot read the result of the tests: {error}", file=sys.stderr)
        return 2
    for name, reason in counts.skipped:
        print(f"skipped: {name}: {reason}")
    for name in counts.failed:
        print(f"failed: {name}")
    print(counts.line())
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
