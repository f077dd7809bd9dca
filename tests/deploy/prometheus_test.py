#!/usr/bin/python3
"""Documents, rules, dashboard and console ask only for what the catalogue has, and Prometheus'
own tool can read all of it."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Dict

import expressions

ROOT = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
OPTILED = pathlib.Path(os.environ["OPTILE_BINARY_DIR"]) / "bin" / "optiled"
PROMETHEUS = ROOT / "deploy/prometheus"
RULES = "deploy/prometheus/optile.rules.yml"
CONSOLE = "deploy/prometheus/consoles/optile.html"
DASHBOARD = "deploy/grafana/dashboard.json"
ASKING = (RULES, "deploy/prometheus/optile.rules.test.yml", CONSOLE, DASHBOARD,
          "deploy/README.md", "docs/reference/metrics.md")

sys.path.insert(0, str(ROOT / "tools"))
import metric_docs  # noqa: E402  (found by the line above)


def promtool(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["promtool", *words], cwd=PROMETHEUS, text=True, timeout=100,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def parse_problem(*asked: str) -> str:
    """What promtool has against these expressions; "" for nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".yml", prefix="optile-") as file:
        file.write(expressions.as_rules(list(asked)))
        file.flush()
        done = promtool("check", "rules", file.name)
    return done.stdout if done.returncode else ""


class MetricCatalogue(unittest.TestCase):
    metrics: Dict[str, Dict] = {}

    @classmethod
    def setUpClass(cls) -> None:
        listed = metric_docs.catalogue(str(OPTILED))
        cls.metrics = {metric["name"]: metric for metric in listed}

    def test_matches_document(self) -> None:
        self.assertEqual(
            expressions.read(ROOT, "docs/reference/metrics.md"),
            metric_docs.document(list(self.metrics.values())),
            "make it again: tools/metric_docs.py BUILD/bin/optiled > docs/reference/metrics.md")

    def test_covers_metrics_of_expressions(self) -> None:
        for name in ASKING:
            asked = expressions.metrics_in(expressions.read(ROOT, name))
            self.assertEqual(asked - set(self.metrics), set(), name)
        asked = expressions.metrics_in(expressions.read(ROOT, DASHBOARD))
        self.assertGreater(len(asked), 10)

    def test_covers_labels_of_expressions(self) -> None:
        for name in ASKING:
            text = expressions.read(ROOT, name)
            if name == DASHBOARD:
                text = "\n".join(expressions.of_dashboard(text))
            elif name == CONSOLE:
                text = "\n".join(expressions.of_console(text))
            self.assertEqual(list(expressions.label_problems(text, self.metrics)), [], name)

    def test_covers_recorded_rules_of_expressions(self) -> None:
        recorded = set(re.findall(r"^ +- record: (\S+)$", expressions.read(ROOT, RULES), re.M))
        self.assertGreater(len(recorded), 3)
        for name in ASKING:
            asked = expressions.recorded_in(expressions.read(ROOT, name))
            self.assertEqual(asked - recorded, set(), name)

    def test_is_enforced_for_planted_mistakes(self) -> None:
        text = 'rate(optile_nothing{program="x"}[1m]) + optile_clients{kind="x"} + a:optile_b:c'
        self.assertEqual(expressions.metrics_in(text) - set(self.metrics), {"optile_nothing"})
        self.assertIn("optile_clients has no label kind",
                      list(expressions.label_problems(text, self.metrics)))
        self.assertEqual(expressions.recorded_in(text), {"a:optile_b:c"})


class Promtool(unittest.TestCase):
    def assert_passes(self, *words: str) -> str:
        done = promtool(*words)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_accepts_rules(self) -> None:
        self.assertIn("SUCCESS", self.assert_passes("check", "rules", "optile.rules.yml"))

    def test_passes_tests_of_rules(self) -> None:
        self.assertIn("SUCCESS", self.assert_passes("test", "rules", "optile.rules.test.yml"))

    def test_tests_every_rule(self) -> None:
        rules = expressions.read(ROOT, RULES)
        tests = expressions.read(ROOT, "deploy/prometheus/optile.rules.test.yml")
        alerts = re.findall(r"^ +- alert: (\S+)$", rules, re.M)
        self.assertGreater(len(alerts), 5)
        self.assertEqual([one for one in alerts if f"alertname: {one}\n" not in tests], [])

    def test_accepts_example_configuration(self) -> None:
        self.assert_passes("check", "config", "prometheus.yml")

    def test_parses_dashboard_expressions(self) -> None:
        asked = expressions.of_dashboard(expressions.read(ROOT, DASHBOARD))
        self.assertGreater(len(asked), 15)
        self.assertEqual(parse_problem(*asked), "")

    def test_parses_console_expressions(self) -> None:
        text = expressions.read(ROOT, CONSOLE)
        asked = expressions.of_console(text)
        # None was overlooked: each "query" of the template and each chart is one.
        self.assertEqual(len(asked), len(re.findall(r"\bquery\b", text)) + text.count("data-expr"))
        self.assertEqual(parse_problem(*asked), "")

    def test_refuses_invalid_expression(self) -> None:
        self.assertNotEqual(parse_problem("optile_clients", "rate(optile_clients)"), "")
        self.assertNotEqual(parse_problem("sum by (program optile_clients)"), "")


class DashboardLayout(unittest.TestCase):
    def test_begins_with_speedup_row(self) -> None:
        panels = json.loads(expressions.read(ROOT, DASHBOARD))["panels"]
        self.assertEqual((panels[0]["type"], panels[0]["title"]), ("row", "Is it helping?"))
        self.assertIn("optile_client_speedup_ratio", panels[1]["targets"][0]["expr"])

    def test_has_no_overlapping_panels(self) -> None:
        taken = set()
        for panel in json.loads(expressions.read(ROOT, DASHBOARD))["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertNotIn((x, y), taken, panel["title"])
                    taken.add((x, y))


if __name__ == "__main__":
    unittest.main(verbosity=2)
