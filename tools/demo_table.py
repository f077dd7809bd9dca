"""The table at the end of ./dev demo: what the runs measured, as text a person understands.

Pure: takes the reports, gives lines. Step times are the training program's own (each step timed by
its own clock); what was changed and why comes from optile's reports.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

# Ops that take less than this share of the step's time are not worth a line.
SMALL_SHARE = 0.01
MOST_OPS = 8
# Less than this is no gain that anybody would notice, and within what runs differ by anyway.
NO_GAIN = 1.05

PART_NAMES = {
    "launch_plan": "launch plan",
    "launch": "launch plan",
    "openmp": "OpenMP runtime",
    "wait": "wait policy",
    "blas_pool": "BLAS pool",
    "blas": "BLAS pool",
    "widths": "widths",
    "width_per_op": "width per op",
    "uniform_width": "one width for all",
}


@dataclass(frozen=True)
class Run:
    """One run of the demo: the program's own report, and optile's."""

    label: str
    program: Mapping[str, Any]
    report: Mapping[str, Any]
    settled_half: bool = False  # count the second half only: the first still tries widths

    def steps(self) -> List[float]:
        steps = [float(seconds) for seconds in self.program["step_seconds"]]
        return steps[len(steps) // 2 :] if self.settled_half else steps

    def median(self) -> float:
        return statistics.median(self.steps())

    def middle_half(self) -> Tuple[float, float]:
        steps = self.steps()
        if len(steps) < 4:
            return min(steps), max(steps)
        low, _, high = statistics.quantiles(steps, n=4)
        return low, high


@dataclass
class Table:
    """Rows of cells; a column is as wide as its widest cell."""

    right: Sequence[bool]  # which columns are numbers
    rows: List[Sequence[str]] = field(default_factory=list)

    def lines(self, indent: str = "  ") -> List[str]:
        widths = [max(len(row[i]) for row in self.rows) for i in range(len(self.right))]
        out = []
        for row in self.rows:
            cells = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, self.right)
            ]
            out.append((indent + "  ".join(cells)).rstrip())
        return out


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def run_note(run: Run) -> str:
    report = run.report
    if not report:
        return ""
    if report.get("plan_replayed"):
        return f"tuned from the start, {report.get('sampled_steps', 0)} steps spent on trying"
    if report.get("sampled_steps"):
        return f"tried widths in {report['sampled_steps']} of {report['steps']} steps"
    return ""


def speed_lines(runs: Sequence[Run]) -> List[str]:
    untouched = runs[0].median()
    table = Table(right=(False, True, True, True, False))
    table.rows.append(("", "ms a step", "middle half", "times as fast", ""))
    for run in runs:
        low, high = run.middle_half()
        table.rows.append(
            (
                run.label,
                milliseconds(run.median()),
                f"{milliseconds(low)} to {milliseconds(high)}",
                f"{untouched / run.median():.2f}",
                run_note(run),
            )
        )
    return table.lines()


def part_lines(parts: Mapping[str, Any]) -> List[str]:
    """One line for each part of the gain: a factor, or what the report says in its place."""
    table = Table(right=(False, True, False))
    for name, value in parts.items():
        text, factor = "", value
        if isinstance(value, Mapping):
            factor = value.get("speedup", value.get("factor"))
            text = str(value.get("text") or value.get("reason") or value.get("kind") or "")
        shown = f"{factor:.2f} times" if isinstance(factor, (int, float)) else "not measured"
        if isinstance(factor, str):
            shown, text = "", factor
        table.rows.append((PART_NAMES.get(name, name.replace("_", " ")), shown, text))
    return table.lines() if table.rows else ["  the report names no parts"]


def launch_line(report: Mapping[str, Any]) -> str:
    wait = report.get("wait_policy") or "the program's own"
    words = [
        f"OpenMP runtime {report.get('openmp_runtime') or 'unknown'}",
        f"wait policy {wait}",
        f"BLAS {report.get('blas') or 'unknown'}",
    ]
    return "  in force: " + ", ".join(words)


def own_width(report: Mapping[str, Any]) -> Optional[int]:
    width = report.get("own_width")
    return int(width) if isinstance(width, (int, float)) and width else None


def shape_text(op: Mapping[str, Any], most: int = 28) -> str:
    shape = str(op.get("shape") or "")
    return shape if len(shape) <= most else shape[: most - 1] + "…"


def op_lines(report: Mapping[str, Any]) -> List[str]:
    """The ops that run at another width than the program's own, the heaviest first."""
    ops = [op for op in report.get("ops", []) if op.get("width")]
    total = sum(float(op.get("seconds") or 0) for op in ops)
    own = own_width(report) or max((int(op["width"]) for op in ops), default=0)
    changed = [op for op in ops if int(op["width"]) != own]
    if not changed:
        at = f" ({own})" if own else ""
        return [f"  none: every op runs best at the program's own width{at}"]
    changed.sort(key=lambda op: -float(op.get("seconds") or 0))
    table = Table(right=(False, False, True, True, False))
    table.rows.append(("op", "shape", "width", "share", "why"))
    for op in changed[:MOST_OPS]:
        share = float(op.get("seconds") or 0) / total if total else 0.0
        if share < SMALL_SHARE and len(table.rows) > 3:
            break
        table.rows.append(
            (
                str(op.get("name") or op.get("key")),
                shape_text(op),
                f"{own} -> {op['width']}",
                f"{share:.0%}",
                str(op.get("reason") or ""),
            )
        )
    lines = table.lines()
    left = len(changed) - (len(table.rows) - 1)
    if left:
        lines.append(f"  and {left} smaller ones; {len(ops) - len(changed)} ops keep width {own}")
    else:
        lines.append(f"  {len(ops) - len(changed)} ops keep width {own}")
    return lines


def verdict(runs: Sequence[Run]) -> str:
    times = runs[0].median() / runs[-1].median()
    if times >= NO_GAIN:
        return f"The second run is {times:.2f} times as fast as the untouched one."
    if times > 1 / NO_GAIN:
        return (
            f"No gain here ({times:.2f}): on this machine and with this BLAS the untouched "
            "settings are already good."
        )
    return (
        f"A loss here ({times:.2f}): optile takes its choices back in later runs; "
        "please look at the report's fallbacks."
    )


def lines(title: Mapping[str, str], runs: Sequence[Run]) -> List[str]:
    """The whole text; the first run is the untouched one, the last decides the verdict."""
    last = runs[-1].report
    out = [f"{name}: {value}" for name, value in title.items()]
    out += [""] + speed_lines(runs)
    out += ["", "Where the gain comes from (second run)"]
    out += part_lines(last.get("parts") or {}) + [launch_line(last)]
    out += ["", "Which ops changed, and why (second run)"] + op_lines(last)
    fallbacks: List[str] = [str(text) for text in last.get("fallbacks") or []]
    if fallbacks:
        out += ["", "Taken back or left alone"] + [f"  {text}" for text in fallbacks]
    coverage: Dict[str, float] = last.get("coverage") or {}
    if coverage:
        out += [
            "",
            f"Of a step's time {coverage.get('observed', 0):.0%} was seen as ops, "
            f"{coverage.get('steered', 0):.0%} could be steered.",
        ]
    return out + ["", verdict(runs)]
