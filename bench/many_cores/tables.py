"""What bench/many_cores/measure.py found, as tables. Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

import predictions
import ratios

Json = Dict[str, Any]


def _ratio(value: Mapping[str, Any]) -> str:
    return f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"


def _number(value: Optional[float]) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> List[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def singles(found: Sequence[Json]) -> List[str]:
    rows = []
    for one in found:
        curve = ", ".join(f"{width}: {rate:.3g}" for width, rate in one["by_width"].items())
        rows.append([
            one["program"], curve, f"{one['recommended']:.3g}", str(one["best_width"]),
            _ratio(one["optile_to_best_uniform"]), str(one["optile_to_best_uniform"]["rounds"]),
            _number(one["optile_to_recommended"]), "yes" if one["settled"] else "no",
        ])  # fmt: skip
    header = ("program", "steps/s by width", "as recommended", "best width", "optile to best width",
              "n", "to recommended", "settled")  # fmt: skip
    return ["### Alone, against the best uniform width", "", *table(header, rows)]


def several(found: Sequence[Json]) -> List[str]:
    rows = []
    for one in found:
        rows.append([
            " + ".join(one["programs"]), f"{one['recommended']:.3f}",
            f"{one['split']:.3f} ({one['best_split']})",
            f"{len(one['tried'])} of {one['splits']}", f"{one['optile']:.3f}",
            _ratio(one["optile_to_best_split"]), str(one["optile_to_best_split"]["rounds"]),
        ])  # fmt: skip
    header = ("programs", "as recommended", "best split", "splits tried", "optile",
              "optile to best split", "n")  # fmt: skip
    return ["### Several at once, weighted speed-up", "", *table(header, rows)]


def accuracies(found: Sequence[Json]) -> List[str]:
    return ["### Predicted widths", ""] + [
        f"- {one['program']}: {predictions.line(one)}." for one in found
    ]


def bindings(found: Sequence[Json]) -> List[str]:
    lines = ["### Threads bound, steps/s", ""]
    for one in found:
        rows = [[way, f"{ratios.geometric_mean(rates):.3g}", str(len(rates))]
                for way, rates in one["windows"].items()]  # fmt: skip
        lines += [f"{one['program']}, {one['threads']} threads", ""]
        lines += table(("way", "steps/s", "n"), rows)
    return lines


PARTS = {"single": singles, "several": several, "accuracy": accuracies, "binding": bindings}


def machine_words(machine: Mapping[str, Any]) -> str:
    return (
        f"{machine['usable_cores']} cores ({machine['physical_cores']} physical), "
        f"{machine['model']}, kernel {machine['kernel']}"
    )


def lines(result: Mapping[str, Any]) -> List[str]:
    machine = result["machine"]
    out = [
        f"{machine_words(machine)}; PyTorch {result['torch']}; {result['bridge']}; {machine['utc']}"
    ]
    for kind, made in PARTS.items():
        found = [one for one in result["parts"] if one["kind"] == kind and "failed" not in one]
        if found:
            out += ["", *made(found)]
    wrong = [one for one in result["parts"] if "failed" in one]
    if wrong or result["left_out"]:
        out += ["", "### Missing", ""]
        out += [f"- {one['title']}: {one['failed'].splitlines()[0]}" for one in wrong]
        out += [f"- {title}: no time was left" for title in result["left_out"]]
    return out
