"""What rules, dashboards and consoles ask of Prometheus, taken out of their files."""

import json
import pathlib
import re
from typing import Dict, Iterator, List, Set

METRIC = re.compile(r"(?<![\w:$])(?:optile|process)_[a-z0-9_]+")
RECORDED = re.compile(r"(?<![\w:])[a-z]+:optile_\w+:\w+")
SELECTOR = re.compile(r"(?<![\w:])((?:optile|process)_[a-z0-9_]+)\s*\{([^{}]*)\}")
LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"')
TARGET_LABELS = {"instance", "job"}


def of_dashboard(text: str) -> List[str]:
    """Every expr, with Grafana's variables replaced by something of their kind."""
    found: List[str] = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "expr":
                    assert isinstance(value, str), value
                    found.append(value)
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(json.loads(text))
    return [re.sub(r"\$\w+", ".*", one.replace("$__rate_interval", "1m")) for one in found]


def of_console(text: str) -> List[str]:
    """Every query of the template and of its charts; what printf fills in is one selector."""
    quoted = re.findall(r'\bquery\s+\(?(?:printf\s+)?"((?:\\.|[^"\\])*)"', text)
    filled = [one.replace('\\"', '"').replace("%s", 'instance="x"') for one in quoted]
    charts = re.findall(r"""data-expr=(?:'([^']*)'|"([^"]*)")""", text)
    return filled + [one or other for one, other in charts]


def metrics_in(text: str) -> Set[str]:
    return set(METRIC.findall(text))


def recorded_in(text: str) -> Set[str]:
    return set(RECORDED.findall(text))


def label_problems(text: str, catalogue: Dict[str, Dict]) -> Iterator[str]:
    """Labels in selectors that the metric does not have."""
    for name, selector in SELECTOR.findall(text):
        known = set(catalogue[name]["labels"]) | TARGET_LABELS if name in catalogue else set()
        for label in LABEL.findall(selector):
            if label not in known:
                yield f"{name} has no label {label}"


def as_rules(expressions: List[str]) -> str:
    """A rules file that is valid if every expression is. JSON is YAML."""
    rules = [{"record": f"parsed:{i}", "expr": one} for i, one in enumerate(expressions)]
    return json.dumps({"groups": [{"name": "parsed", "rules": rules}]})


def read(root: pathlib.Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")
