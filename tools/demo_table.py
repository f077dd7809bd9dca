"""The last screen of ./dev demo: what was measured, as text a person understands. Pure.

Steps a second are the trainings' own, as their logs say them; cores are what the daemon says of its
leases; what was changed comes from optile's reports.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence

# Less than this is no gain that anybody would notice, and within what runs differ by anyway.
NO_GAIN = 1.05
COLUMNS = 98
# An interval so wide, its end over its beginning, says nothing.
WIDE = 1.3

Rates = Mapping[str, float]  # steps a second, by the training's name


@dataclass(frozen=True)
class Factor:
    """How many times as fast, with an interval of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass
class Figures:
    """All that was measured; a training that was killed is missing in `survivors`."""

    machine: str
    names: Sequence[str]
    untouched: Rates = field(default_factory=dict)  # side by side
    tuned: Rates = field(default_factory=dict)
    leases: Mapping[str, float] = field(default_factory=dict)  # cores of each, by the daemon
    killed: str = ""
    freed_seconds: Optional[float] = None  # from the kill to the others' new leases
    survivors: Rates = field(default_factory=dict)
    survivor_leases: Mapping[str, float] = field(default_factory=dict)
    alone: Dict[str, float] = field(default_factory=dict)
    alone_tuned: Dict[str, float] = field(default_factory=dict)
    factors: Dict[str, Optional[Factor]] = field(default_factory=dict)
    reports: Dict[str, Mapping[str, Any]] = field(default_factory=dict)  # of the runs alone
    fewest_steps: int = 0  # behind any of the rates
    framework: str = "PyTorch"


@dataclass
class Table:
    """Rows of cells; a column is as wide as its widest cell. The first one is of words."""

    rows: List[Sequence[str]] = field(default_factory=list)

    def lines(self, groups: Mapping[int, str]) -> List[str]:
        """`groups`: a title above the columns from this one on, to the next group."""
        widths = [max(len(row[i]) for row in self.rows) for i in range(len(self.rows[0]))]
        starts = [*groups, len(widths)]
        for begin, end in zip(starts, starts[1:]):
            room = sum(widths[begin:end]) + 2 * (end - begin - 1)
            widths[begin] += max(0, len(groups[begin]) + 4 - room)
        titles = " " * (widths[0] + 2)
        for begin, end in zip(starts, starts[1:]):
            room = sum(widths[begin:end]) + 2 * (end - begin - 1)
            titles += f" {groups[begin]} ".center(room, "-") + "  "
        return ([titles.rstrip()] if groups else []) + [
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in self.rows
        ]


def number(values: Mapping[str, float], name: str) -> str:
    if name not in values:
        return "-"
    return f"{values[name]:.2f}" if values[name] < 100 else f"{values[name]:.0f}"


def cores_text(leases: Mapping[str, float], name: str) -> str:
    return f"{leases[name]:.3g}" if name in leases else "-"


def weighted_speedup(made: Rates, alone: Rates) -> Optional[float]:
    """None where one of them is not known alone."""
    if not made or any(not alone.get(name) for name in made):
        return None
    return sum(rate / alone[name] for name, rate in made.items())


def two_digits(value: Optional[float]) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def speed_lines(figures: Figures) -> List[str]:
    table = Table()
    table.rows.append(
        ("steps a second", "untouched", "optile", "cores", "optile", "cores", "untouched",
         "optile", "times as fast")
    )  # fmt: skip
    for name in figures.names:
        factor = figures.factors.get(name)
        table.rows.append(
            (
                name,
                number(figures.untouched, name),
                number(figures.tuned, name),
                cores_text(figures.leases, name),
                "killed" if name == figures.killed else number(figures.survivors, name),
                "" if name == figures.killed else cores_text(figures.survivor_leases, name),
                number(figures.alone, name),
                number(figures.alone_tuned, name),
                str(factor) if factor else "unknown",
            )
        )
    made = [weighted_speedup(one, figures.alone) for one in (figures.untouched, figures.tuned)]
    table.rows.append(("weighted speed-up", *map(two_digits, made), "", "", "", "", "", ""))
    return table.lines(
        {1: "side by side", 4: f"{figures.killed} killed", 6: "alone"} if figures.killed else {}
    )


def wrapped(text: str) -> List[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)


def together_text(figures: Figures) -> str:
    before = weighted_speedup(figures.untouched, figures.alone)
    after = weighted_speedup(figures.tuned, figures.alone)
    if not before or not after:
        return "Side by side: not every training made steps, so nothing is compared."
    times = after / before
    if times >= NO_GAIN:
        said = f"optile gets {times:.2f} times as much done as {figures.framework}'s defaults"
    elif times > 1 / NO_GAIN:
        said = f"no gain here: {times:.2f} times as much done as at {figures.framework}'s defaults"
    else:
        said = f"a loss here: {times:.2f} times as much done as at {figures.framework}'s defaults"
    over_tuned = weighted_speedup(figures.tuned, figures.alone_tuned)
    return (
        f"Side by side {said}. One after the other would be a weighted speed-up of 1.00; over what "
        f"they do alone under optile it is {two_digits(over_tuned)}."
    )


def kill_text(figures: Figures) -> str:
    gains = [
        f"{name} {rate / figures.tuned[name]:.2f} times as fast"
        for name, rate in figures.survivors.items()
        if figures.tuned.get(name)
    ]
    if figures.freed_seconds is None:
        return f"{figures.killed} was killed; the daemon moved no core. Then {', '.join(gains)}."
    return (
        f"{figures.killed} was killed: {figures.freed_seconds * 1e3:.0f} ms later the others had "
        f"its cores ({', '.join(gains)})."
    )


def verdict(factor: Optional[Factor]) -> str:
    if factor is None:
        return "too few steps to compare"
    if factor.value >= NO_GAIN and factor.low > 1:
        return f"{factor.value:.2f} times as fast"
    if factor.value <= 1 / NO_GAIN and factor.high < 1:
        return f"a loss, {factor.value:.2f}"
    if factor.high / factor.low > WIDE:
        return f"not clear in so few steps, {factor.value:.2f}"
    return f"no gain, {factor.value:.2f}"


def changed_ops(report: Mapping[str, Any]) -> List[Mapping[str, Any]]:
    """The ops that run at another width than the program's own."""
    return [op for op in report.get("ops") or [] if op["width"] != op["default_width"]]


def settings_text(report: Mapping[str, Any]) -> str:
    """What is in force of a launch plan, and how many widths are changed."""
    if not report.get("ops"):
        return "nothing seen of it"
    words = []
    if report.get("openmp_runtime") not in ("unknown", "none"):  # TensorFlow's pools are its own
        words.append(f"OpenMP runtime {report.get('openmp_runtime') or 'unknown'}")
        words.append(f"wait policy {report.get('wait_policy') or 'its own'}")
    plan = dict(word.split("=", 1) for word in str(report.get("launch_plan") or "").split())
    if "heap" in plan:
        words.append(f"{plan['heap']} of heap kept")
    words.append(f"{len(changed_ops(report))} of {len(report['ops'])} ops narrower")
    if report.get("phase") not in ("tuned", None):
        words.append("still trying others at the end")
    return ", ".join(words)


def alone_lines(figures: Figures) -> List[str]:
    said = [f"{name} {verdict(figures.factors.get(name))}" for name in figures.names]
    lines = wrapped(f"Alone: {'; '.join(said)}. Set there:")
    by_text: Dict[str, List[str]] = {}
    for name in figures.names:
        by_text.setdefault(settings_text(figures.reports.get(name) or {}), []).append(name)
    for text, names in by_text.items():
        lines += wrapped(f"  {', '.join(names)}: {text}")
    return lines


def lines(figures: Figures, folder: str) -> List[str]:
    """The whole screen."""
    return [
        figures.machine,
        "",
        *speed_lines(figures),
        "",
        *wrapped(together_text(figures)),
        *wrapped(kill_text(figures)),
        *alone_lines(figures),
        "",
        f"Each figure rests on {figures.fewest_steps} steps or more; in brackets: 95 % intervals.",
        f"Logs, reports and figures: {folder}",
    ]
