"""The figures that follow from an ablation's rounds, and the table of them. Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import ratios
import workload_run
from interleaved import Rounds

NAMES: Mapping[str, str] = {
    "r": "recommendation",
    "a": "untouched",
    "b": "+ launch plan",
    "c": "+ BLAS pool",
    "d": "+ best uniform width",
    "e": "+ width per op",
    "h": "host optimum",
}
AGAINST = ("a", "r", "h")

# Part of the gain -> the forms before and after it. The first pair that was measured counts, so
# that a provider without a pool of its own goes from (b) to (d).
PARTS: Mapping[str, Sequence[Tuple[str, str]]] = {
    "launch plan": (("a", "b"),),
    "BLAS pool": (("b", "c"),),
    "uniform width": (("c", "d"), ("b", "d")),
    "width per op": (("d", "e"),),
}
OWN_CREDIT = "width per op"
FAR_APART = 0.2  # report and program about the time of a step


def derived(rounds: Rounds) -> Dict[str, Any]:
    """Times as fast as (a), (r) and (h) for each form, and the factor of each part."""
    there = [label for label in rounds.labels if rounds.medians(label)]
    against: Dict[str, Dict[str, Any]] = {
        before: {
            form: rounds.times_as_fast(before, form).as_json() for form in there if form != before
        }
        for before in AGAINST
        if before in there
    }
    parts: Dict[str, Any] = {}
    for name, pairs in PARTS.items():
        for before, after in pairs:
            if before in there and after in there:
                parts[name] = rounds.times_as_fast(before, after).as_json()
                break
    step_seconds = {form: rounds.step_seconds(form) for form in there}
    return {"against": against, "parts": parts, "step_seconds": step_seconds}


def ratio_text(value: Optional[Mapping[str, Any]]) -> str:
    if not value:
        return ""
    return str(ratios.Ratio(value["value"], value["low"], value["high"], int(value["rounds"])))


def columns(rows: Sequence[Sequence[str]]) -> List[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in rows
    ]


def form_lines(result: Mapping[str, Any]) -> List[str]:
    against = [before for before in AGAINST if before in result["against"]]
    rows = [["", "", "ms a step"] + [f"times as fast as ({before})" for before in against]]
    for form, name in NAMES.items():
        if form not in result["step_seconds"]:
            continue
        row = [f"({form})", name, f"{result['step_seconds'][form] * 1e3:.4g}"]
        row += [ratio_text(result["against"][before].get(form)) for before in against]
        rows.append(row)
    return columns(rows)


def replay_lines(result: Mapping[str, Any]) -> List[str]:
    out = []
    for form, seen in result.get("replayed", {}).items():
        runs = seen["runs"]
        out.append(
            f"({form}) plan replayed in {seen['plan_replayed']} of {runs} runs, "
            f"no sampled step in {seen['without_sampled_steps']} of {runs}"
        )
        first = result["prepared"].get(form) or {}
        if not first.get("settled"):
            out.append(
                f"  careful: its first run did not settle in {first.get('seconds', 0):.0f} s, so "
                "this is no second run; give more --prepare-seconds"
            )
        apart = seen.get("step_seconds_apart")
        if apart is not None and apart > FAR_APART:
            out.append(f"  careful: report and program differ by {apart:.0%} about a step's time")
        for made, counted in zip(seen["steps_made"], seen["steps_counted"]):
            if abs(made - counted) > max(5, made // 10):
                out.append(f"  careful: optile counted {counted} steps where {made} were made")
                break
    return out


def lines(result: Mapping[str, Any]) -> List[str]:
    machine = result["machine"]
    batch = f", batch {result['batch']}" if result["batch"] else ""
    batch += ", compiled" if result.get("compiled") else ""
    load = " ".join(f"{one:.2f}" for one in machine["load_average"])
    out = [
        f"{result['workload']}{batch}, BLAS {result['blas']['provider']}, {machine['model']}, "
        f"{machine['physical_cores']} cores, load before {load}",
        f"{result['rounds']} rounds; in brackets 95 % intervals",
    ]
    out += form_lines(result)
    for name, value in result["parts"].items():
        credit = ", the tuner's own credit" if name == OWN_CREDIT else ""
        out.append(f"{name}: {ratio_text(value)} times{credit}")
    if result.get("optimum"):
        out.append(f"(h) is {result['optimum']['name']}")
    if result.get("launch_plan"):
        out.append(f"launch plan of (e): {result['launch_plan']}")
    coverage = result.get("coverage") or {}
    if coverage.get("observed") is not None:
        out.append(
            f"coverage: {coverage['observed']:.1%} of a step observed, "
            f"{coverage['steered']:.1%} steered"
        )
    out += replay_lines(result)
    out += result.get("oracle_text") or []
    out += [f"taken back or left alone: {text}" for text in result.get("fallbacks") or []]
    if result["foreign_cores"] > workload_run.QUIET_CORES:
        out.append(
            f"careful: others kept {result['foreign_cores']:.2f} cores busy meanwhile; "
            "measure again on a quiet machine"
        )
    return out
