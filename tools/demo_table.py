"""The table at the end of ./dev demo: what the runs measured, as text a person understands.

Pure: takes the reports, gives lines. Step times are the training program's own (each step timed by
its own clock); what was changed and why comes from optile's reports.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

MOST_OPS = 8
# Less than this is no gain that anybody would notice, and within what runs differ by anyway.
NO_GAIN = 1.05

# The report's parts in the order of the way from untouched to tuned; each is a factor or null.
# `widths` is the last two together, for runs that did not measure them apart.
PART_NAMES = {
    "launch_plan": "launch plan (OpenMP runtime, wait policy, heap, all cores offered)",
    "blas_pool": "BLAS pool",
    "uniform_width": "best single width for the whole step",
    "width_per_op": "a width for each op",
    "widths": "widths",
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


def merged_parts(runs: Sequence[Run]) -> Dict[str, Optional[float]]:
    """The last run's parts; what it did not measure (it tried nothing) from the run before."""
    merged: Dict[str, Optional[float]] = {}
    for run in runs[1:]:
        for name, factor in (run.report.get("parts") or {}).items():
            merged[name] = factor if factor is not None else merged.get(name)
    return merged


def part_lines(parts: Mapping[str, Optional[float]]) -> List[str]:
    """One line for each part of the gain: its factor, or that nothing measured it."""
    shown = dict(parts)
    if shown.get("uniform_width") and shown.get("width_per_op"):
        shown.pop("widths", None)
    elif shown.get("widths"):
        shown = {n: v for n, v in shown.items() if n not in ("uniform_width", "width_per_op")}
    table = Table(right=(False, True))
    for name, label in PART_NAMES.items():
        if name not in shown:
            continue
        factor = shown[name]
        if name == "launch_plan" and factor and not shown.get("blas_pool"):
            label = label.replace(")", ", with the BLAS pool)")
        table.rows.append((label, f"{factor:.2f} times" if factor else "not measured"))
    return table.lines() if table.rows else ["  the report names no parts"]


def step_warning(run: Run) -> Optional[str]:
    """Says so when optile took something else for a step than the program does."""
    steps = len(run.program["step_seconds"]) + int(run.program.get("warmup", 0))
    seen = run.report.get("steps")
    if seen is None or abs(int(seen) - steps) <= max(5, steps // 10):
        return None
    return (
        f"  careful: optile saw {seen} steps in {run.label} where the program made {steps}, so "
        "the parts and shares below the first table rest on another step than the program's"
    )


def launch_line(report: Mapping[str, Any]) -> str:
    wait = report.get("wait_policy") or "the program's own"
    words = [
        f"OpenMP runtime {report.get('openmp_runtime') or 'unknown'}",
        f"wait policy {wait}",
        f"BLAS {report.get('blas') or 'unknown'}",
    ]
    plan = dict(word.split("=", 1) for word in str(report.get("launch_plan") or "").split())
    if "heap" in plan:
        words.append(f"{plan['heap']} of heap kept between steps")
    return "  in force: " + ", ".join(words)


def shape_text(op: Mapping[str, Any], most: int = 28) -> str:
    shape = str(op.get("shape") or "")
    return shape if len(shape) <= most else shape[: most - 1] + "…"


def changed_ops(report: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """The ops that run at another width than the program's own, the heaviest first."""
    changed = [op for op in report.get("ops", []) if op["width"] != op["own_width"]]
    return sorted(changed, key=lambda op: -float(op.get("seconds") or 0))


def op_row(op: Mapping[str, Any], step_seconds: float) -> Sequence[str]:
    seconds, own = float(op.get("seconds") or 0), float(op.get("own_seconds") or 0)
    times = f"{own / seconds:.2f}" if seconds and own else ""
    back = " (backward)" if op.get("direction") == "backward" else ""
    return (
        f"{op.get('name') or op.get('key')}{back}",
        shape_text(op),
        f"{op['own_width']} -> {op['width']}",
        f"{seconds / step_seconds:.0%}" if step_seconds else "",
        times,
        str(op.get("reason") or ""),
    )


def op_lines(report: Mapping[str, Any], step_seconds: float) -> List[str]:
    ops = report.get("ops", [])
    changed = changed_ops(report)
    if not changed:
        return [f"  none of {len(ops)}: no other width is faster by a settled margin"]
    table = Table(right=(False, False, True, True, True, False))
    table.rows.append(("op", "shape", "width", "of a step", "times as fast", "why"))
    for op in changed[:MOST_OPS]:
        table.rows.append(op_row(op, step_seconds))
    more = f"{len(changed) - MOST_OPS} more changed; " if len(changed) > MOST_OPS else ""
    return table.lines() + [f"  {more}{len(ops) - len(changed)} keep the program's own width"]


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
    out += [""] + speed_lines(runs) + [text for text in map(step_warning, runs) if text]
    out += ["", "Where the gain comes from"]
    out += part_lines(merged_parts(runs)) + [launch_line(last)]
    out += ["", "Which ops changed, and why (second run)"] + op_lines(last, runs[-1].median())
    if last.get("decision"):
        out.append(f"  decided by whole steps: {last['decision']}")
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
