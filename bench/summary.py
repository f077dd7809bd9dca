#!/usr/bin/python3
"""One table over all ablations in a folder, as Markdown, and how they stand against the goals."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any, Dict, List, Mapping, Sequence

import ablation
import ratios
import workload_run
from ablation_table import OWN_CREDIT, ratio_text
from workload_run import RunError, progress

# What optile wants to reach; bench/README.md explains each.
OPTIMUM_GOAL, OPTIMUM_LOW_GOAL = 0.98, 0.95
RECOMMENDATION_GOAL = 0.98
RECOMMENDATION_IS_RIGHT = 1.02  # the optimum gains no more than this over it
OBSERVED_GOAL, STEERED_GOAL = 0.95, 0.90

Result = Mapping[str, Any]


def read(folder: pathlib.Path) -> List[Result]:
    """Ablations of the folder; those without a single round are left out and said."""
    found = []
    for path in sorted(folder.glob("*.ablation.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{path} is unreadable: {error}; delete it and measure again") from error
        if result.get("rounds"):
            found.append(result)
        else:
            progress(f"{path} holds no whole round and is left out")
    if not found:
        raise RunError(f"no results in {folder}: bench/measure_all.py writes them")
    return found


def name_of(result: Result) -> str:
    batch = f" ({result['batch']})" if result["batch"] else ""
    return f"{result['workload']}{batch}"


def against(result: Result, before: str) -> Mapping[str, Any]:
    return result["against"].get(before, {}).get("e") or {}


def cell(value: Any) -> str:
    """No value is an empty cell, never a zero."""
    return "" if not value else ratio_text(value)


def percent(value: Any) -> str:
    return "" if value is None else f"{value:.0%}"


def rows(results: Sequence[Result]) -> List[List[str]]:
    out = [
        ["workload (batch)", "BLAS", "(a) ms", "(e) to (a)", "(e) to recommendation",
         "(e) to host optimum", "launch plan", "BLAS pool", "uniform width", "width per op",
         "oracle over uniform", "observed", "steered", "replayed", "rounds"],
    ]  # fmt: skip
    for one in results:
        parts, coverage = one["parts"], one.get("coverage") or {}
        seen = one.get("replayed", {}).get("e") or {}
        untouched = one["step_seconds"].get("a")
        upper = (one.get("oracle") or {}).get("times_over_uniform")
        out.append(
            [name_of(one), one["blas"]["provider"],
             f"{untouched * 1e3:.4g}" if untouched else "",
             cell(against(one, "a")), cell(against(one, "r")), cell(against(one, "h")),
             cell(parts.get("launch plan")), cell(parts.get("BLAS pool")),
             cell(parts.get("uniform width")), cell(parts.get(OWN_CREDIT)),
             f"{upper:.3f}" if upper else "",
             percent(coverage.get("observed")), percent(coverage.get("steered")),
             f"{seen.get('plan_replayed', 0)}/{seen['runs']}" if seen.get("runs") else "",
             str(one["rounds"])]
        )  # fmt: skip
    return out


def markdown(table: Sequence[Sequence[str]]) -> List[str]:
    head, *body = table
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in body]


# --- the goals ------------------------------------------------------------------------------


def shortfalls(result: Result) -> List[str]:
    """Goals that this pair misses, or cannot be judged by."""
    out = []
    optimum, recommended = against(result, "h"), against(result, "r")
    if not optimum:
        out.append("no host optimum to compare with")
    elif optimum["value"] < OPTIMUM_GOAL or optimum["low"] < OPTIMUM_LOW_GOAL:
        out.append(f"(e) is {ratio_text(optimum)} of the host optimum")
    gain = (result["against"].get("r") or {}).get("h")
    if gain and recommended and gain["value"] <= RECOMMENDATION_IS_RIGHT:
        if recommended["value"] < RECOMMENDATION_GOAL:
            out.append(f"(e) is {ratio_text(recommended)} of a recommendation that is right")
    coverage = result.get("coverage") or {}
    for name, goal in (("observed", OBSERVED_GOAL), ("steered", STEERED_GOAL)):
        value = coverage.get(name)
        if value is None or value < goal:
            out.append(f"{name} {percent(value) or 'unknown'}, wanted {goal:.0%}")
    for form, seen in (result.get("replayed") or {}).items():
        if not seen["runs"] == seen["plan_replayed"] == seen["without_sampled_steps"]:
            out.append(f"({form}) did not replay its plan in every run")
    return out


def pooled_optimum(results: Sequence[Result]) -> List[str]:
    """Geometric mean of (e) against the host optimum, over all pairs and for each provider."""
    groups: Dict[str, List[List[float]]] = {}
    for one in results:
        forms = one["forms"]
        if "e" not in forms or "h" not in forms:
            continue
        logs = ratios.log_ratios(forms["h"]["median_seconds"], forms["e"]["median_seconds"])
        if logs:
            groups.setdefault(one["blas"]["provider"], []).append(logs)
    every = [logs for group in groups.values() for logs in group]
    if not every:
        return ["no pair has both (e) and (h)"]
    out = [
        f"(e) against the host optimum, geometric mean of {len(group)}, {provider}: "
        f"{ratios.pooled(group)}"
        for provider, group in groups.items()
    ]
    return out + [f"over all {len(every)}: {ratios.pooled(every)} (wanted: more than 1)"]


def lines(results: Sequence[Result]) -> List[str]:
    machines = {
        f"{one['machine']['model']}, {one['machine']['physical_cores']} cores, "
        f"kernel {one['machine']['kernel']}"
        for one in results
    }
    out = [*sorted(machines), ""] + markdown(rows(results)) + [""] + pooled_optimum(results) + [""]
    for one in results:
        missed = shortfalls(one)
        if not one.get("complete"):
            missed.append("fewer rounds than asked for")
        if one["foreign_cores"] > workload_run.QUIET_CORES:
            missed.append(f"others kept {one['foreign_cores']:.2f} cores busy")
        state = "; ".join(missed) if missed else "every goal met"
        out.append(f"{name_of(one)}, {one['blas']['provider']}: {state}")
    return out


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "folder", nargs="?", type=pathlib.Path, default=ablation.ROOT / "bench" / "results"
    )
    print("\n".join(lines(read(parser.parse_args(arguments).folder))))
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("summary", main))
