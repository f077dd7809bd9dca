#!/usr/bin/python3
"""Writes docs/reference/metrics.md from the catalogue that optiled prints.

    tools/metric_docs.py BUILD/bin/optiled > docs/reference/metrics.md
"""

import json
import subprocess
import sys
from typing import Dict, List

HEAD = """# Metrics

Made by `tools/metric_docs.py` from the catalogue in `daemon/metrics/metric_catalogue.cc`; a test
compares. How to collect them and what to look at: [deploy](../../deploy/README.md).

Nothing here costs anything until somebody asks: a page is a snapshot of that moment. It has at most
5,000 series. Where there would be more, whole families are left out, from the end of these tables;
`optile_series_dropped` says how many series went.

- `program` is the name of the program, `client` a small number that is unique among the attached
  programs and used again when one has left. Finished programs have no series.
- The 50 ops with the most time have series of their own; the others are counted together under
  `op="other"`, with the other labels empty. Counters of ops add up all attached runs of a program
  and never fall while one of them is attached.
- Over TCP and in the text file every `program` is `unnamed`, and all ops are one, `op="other"`,
  without widths, unless the daemon was started with `--metrics-programs`: who reads there is not
  known. `optile metrics` names them.
- Names that come from programs are cut to 96 bytes, and what is no UTF-8 becomes `?`.
- The text file for node_exporter has no `process_*`: node_exporter has its own.
"""

SECTIONS = (
    ("Programs", "optile_client_", "Is it helping? One series for each attached program."),
    ("Ops", "optile_op_", "Where the time goes, over all attached programs."),
    ("The daemon", "optile_", "What it serves, keeps and cannot keep."),
    ("The daemon's process", "process_", "As the kernel counts it."),
)


def catalogue(optiled: str) -> List[Dict]:
    printed = subprocess.run([optiled, "--print-metric-catalogue"], check=True, timeout=60,
                             stdout=subprocess.PIPE)
    return json.loads(printed.stdout)


def table(metrics: List[Dict]) -> str:
    lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric["labels"])
        lines.append(f"| `{metric['name']}` | {metric['type']} | {labels} | {metric['help']} |")
    return "\n".join(lines) + "\n"


def document(metrics: List[Dict]) -> str:
    left = list(metrics)
    parts = [HEAD]
    for title, prefix, text in SECTIONS:
        here = [metric for metric in left if metric["name"].startswith(prefix)]
        left = [metric for metric in left if metric not in here]
        parts.append(f"\n## {title}\n\n{text}\n\n{table(here)}")
    if left:
        raise SystemExit(f"no section for {[metric['name'] for metric in left]}")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(document(catalogue(sys.argv[1])))
