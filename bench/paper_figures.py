#!/usr/bin/python3
"""Holds what the simulator predicts against what the paper printed: makes docs/results/fit.md.

The laws behind it are fitted to the paper's Tables II and VI (bench/fit_op_laws.py); everything
else here is a prediction. The numbers of the paper in this file go into no model.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "results" / "fit.md"
NETWORKS = ("resnet50", "dcgan", "inception_v3", "lstm")

# Figure 3: gains of each stage over the one before, and of all over the recommendation.
STAGES = {
    "resnet50": {"s12": 1.02, "s123": 1.35, "s1234": 1.08, "all": 1.49},
    "dcgan": {"s12": 1.12, "s123": 1.15, "s1234": 1.04, "all": 1.34},
    "inception_v3": {"s12": 1.02, "s123": 1.07, "s1234": 1.07, "all": 1.17},
    "lstm": {"s12": 1.14, "s123": 1.25, "s1234": 1.00, "all": 1.43},
}
MEAN = 1.36  # as the paper prints it
# Figure 4: average number of ops that run, without and with strategy 4. LSTM: not shown.
CORUNNING = {"resnet50": (1.61, 1.89), "dcgan": (1.62, 2.04), "inception_v3": (1.52, 1.74)}
# Section IV-B: the manual optimum (inter, intra), and all strategies against it.
MANUAL = {
    "resnet50": ((4, 16), 1.08),
    "dcgan": ((2, 34), 1.07),
    "inception_v3": ((2, 68), 0.98),
    "lstm": ((2, 2), 1.02),
}
# Table I: milliseconds a step.
TABLE_I = {
    "resnet50": {"1,34": 1414, "1,68": 1382, "1,136": 2257, "2,34": 1088, "2,68": 1213,
                 "2,136": 4017, "4,34": 1169, "4,68": 3048, "4,136": 4782},
    "dcgan": {"1,34": 484, "1,68": 524, "1,136": 1045, "2,34": 411, "2,68": 501,
              "2,136": 1238, "4,34": 434, "4,68": 565, "4,136": 1469},
}
# Table III: gain over one after the other.
TABLE_III = {"2,68": 1.03, "2,34": 1.38}
TOTAL_GOAL, MEAN_GOAL = 0.10, 0.05
# Where NOTES say why a prediction misses, by what is in its name.
WHY = (
    (r"Figure 4", "Ops side by side"),
    (r"manual optimum, lstm", "The manual optimum of LSTM"),
    (r"manual optimum", "The manual optimum"),
    (r"Table III, 2,68", "Second hardware threads"),
    (r"Table III, 2,34", "Table III"),
    (r"Table I, .*, [24],34$", "Co-running at 34 threads"),
    (r"Table I, .*, resnet50, 4,68", "Four teams of 68 threads"),
    (r"Table I, ms, dcgan", "The time of a DCGAN step"),
    (r"Table I, .*,136", "Several threads of a team on a core"),
)

# Assumptions that no fitted table settles, as predictions.cc changes them one at a time.
WORLDS = {
    "standard": "as it is",
    "memory": "memory: contention 4, not 1",
    "tiles": "tiles: sharing one costs 1.2, not 0.3",
    "siblings": "second hardware threads bring nothing, not a quarter",
    "crowding": "crowding: exponent 2.5, not 1.25",
    "cores": "no width faster than its cores",
}

HEAD = """# Fit and prediction: the paper's figures by the simulator

Made by `bench/paper_figures.py BUILD/bin/predictions --write`; a test compares. "The paper" is the
one that [curves](curves.md) names.

The laws of the ops are fitted to Tables II and VI of the paper, and to nothing else
([how](curves.md#the-fit)). What follows is the [simulator](simulator.md)'s word on everything else
that the paper printed about the same machine, `knl`, without noise. Errors are relative to the
paper. A gain of 1.35 means that a step takes 1/1.35 of the time.

"""

NOTES = """## What was changed after predictions were first seen, and why

A blind prediction is worth what its history is worth.

- Using all cores first cost 0.8 %, the least gain in Table VI. Then no op ever held all cores and
  strategy 4 never began. Table II has three ops that are best on all 68, so the cost went.
- Ops that Table VI does not list first had the least gain that it lists for their network. The
  paper says of such ops that they do not improve and need fewer threads for the same time (section
  IV-B), so their gain became 1.
- How the best width depends on an op's time was first inferred from Table VI and a serial time
  common to all ops; it comes from Table II now, where it is printed.
- The row of Table II that is best on 66 of 68 cores was first a best width like the others; it is
  a bound now, like the rows that are best on 68.
- Nothing else was changed. Interference and the cost of changing a team are the simulator's own
  defaults and were not touched for this page; [where they come from](simulator.md) says which of
  them lean on the paper: how cores with more than two threads slow down (its default of 272
  threads). That bears on the cells of Table I with more threads than cores, and on nothing else.
- What a change of a team costs on this machine is not known. LSTM, whose ops take microseconds,
  gains more where it is cheap; the default is a dear one.

## What cannot be made to agree

- **Co-running at 34 threads** gains more here than in Table I. None of the assumptions is to blame:
  whichever is changed, two teams on DCGAN gain 1.53, and on ResNet-50 1.47 to 1.52, memory four
  times as narrow included. What else disturbs ops side by side, the paper shows once, in
  Table III: its pair takes 29.8 s, where the slower op takes 20.3 s alone on all cores and loses
  25 % on half of them: 25.4 s if that is time, 27.1 s if it is performance. That leaves 10 to 17 %
  more than the losses explain, and the tables that were fitted do not tell of it.
- **Table III** by the laws loses less at 34 cores than the paper's pair: 16 % and 19 % more time,
  as the smaller shapes of Table II have it, where 25 % and 17 % are printed. With those two the
  pair would gain 1.52 to 1.62; the rest to 1.38 is the disturbance above.
- **Second hardware threads** bring this pair of the paper nothing: by Table II its ops take 39.9 s
  one after the other, and 39.9 s is what both take together. The law has them bring a quarter. If
  they brought nothing to any op, strategy 4 would bring nothing either, 1.00 for Inception-v3
  where the paper has 1.07; no one number gives both.
- **The manual optimum** profits from ops that Table VI does not list: by their laws many take as
  long on one core as on 68, which no core could do. Tried, as the last of the assumptions: no
  width faster than its cores at 89.6 Gflop/s and 10 GB/s each (peak, and twice the even share of
  the memory). ResNet-50's optimum then is (3, 22); but all strategies over the recommendation fall
  to 1.35, 1.28, 1.12 and 1.10, and stand no better against the optimum. Not adopted: the agreement
  of Figure 3 leans on laws too good to ops on few cores, and no table that may be used says how
  good they should be.
- **Four teams of 68 threads** are 2.5 times slower than two in Table I for ResNet-50 and 1.13 times
  for DCGAN. Both have four hardware threads on every core, so one law of sharing cannot give both:
  with twice the exponent ResNet-50 comes nearer, and DCGAN leaves.
- **Several threads of a team on a core.** From 68 to 136 threads of one op at a time ResNet-50
  takes 1.63 times as long in Table I and DCGAN 1.99 times. The law has one exponent, 0.8, which is
  1.74 for both; ResNet-50 alone would ask for 0.71 and DCGAN for 0.99. Four such teams take 2.12
  times as long as one for ResNet-50 there and 1.41 times for DCGAN; here it is 2.27 and 1.83.
- **The time of a DCGAN step.** Of 524 ms Table VI lists 422, which leaves 102 to all other ops. By
  their bytes and operations, at the rates of those that are listed, they take 177 ms here. The same
  rule gives the others of ResNet-50 754 ms, where the paper leaves 804. Gains do not depend on it.
- **Ops side by side.** With no width faster than its cores ResNet-50 has 1.96 instead of 2.16, so a
  part is, again, laws too good to narrow teams. DCGAN's step has 644 ops here, which is 1,288
  launches and finishes; the paper shows 6,000 out of the middle of one, so its graph has several
  times as many ops as that of the program that it names. Gains of strategy 3 agree all the same.
- **Strategy 4 for ResNet-50 and DCGAN.** It begins when an op holds every core. By Table II an op
  as short as ResNet-50's is best on far fewer, and by Table VI those of DCGAN are: 0 of 4,791 and 0
  of 644 ops have all cores in their plan. Of Inception-v3, whose ops are long, 3,421 of 6,936 do,
  and it gains here as in the paper.
- **The manual optimum of LSTM** has two threads. `SparseSoftmaxCross` is 40 % of that step and
  gains 34 % over 68 threads (Table VI): by a law with one minimum it is then best on some 30
  threads and several times slower on two.
- **LSTM's `MatMul`**: its three products over the vocabulary are 4.8 billion operations in 0.95 ms,
  which would be 5 Tflop/s, 83 % of what the processor can do at its nominal clock.
- **The time of an Inception-v3 step.** Ops that Table VI does not list may each take as much as its
  fifth (416 ms), and many do by their bytes: 8.9 s, where the gains of Figure 3 and Table VI
  together would give about 3.9 s. Only ratios are used.
"""


def error(ours: float, theirs: float) -> str:
    return f"{(ours / theirs - 1) * 100:+.1f} %"


def predicted(tool: pathlib.Path, networks: Sequence[str] = ()) -> Dict[str, Any]:
    printed = subprocess.run(
        [str(tool), *networks], check=True, timeout=300, stdout=subprocess.PIPE, text=True
    )
    return json.loads(printed.stdout)


def stages(network: Mapping[str, Any]) -> Dict[str, float]:
    seconds = {name: one["step_seconds"] for name, one in network["strategies"].items()}
    return {
        "s12": seconds["recommendation"] / seconds["s12"],
        "s123": seconds["s12"] / seconds["s123"],
        "s1234": seconds["s123"] / seconds["s1234"],
        "all": seconds["recommendation"] / seconds["s1234"],
    }


def cells(ours: float, theirs: float) -> str:
    return f"{ours:.2f} | {theirs:.2f} | {error(ours, theirs)}"


def stage_tables(found: Mapping[str, Any]) -> List[str]:
    lines = ["## Figure 3: the strategies", ""]
    titles = {
        "all": "All strategies over the recommendation",
        "s12": "Strategies 1 and 2 alone: fitted, since Table VI is their effect",
        "s123": "Strategy 3 on top of them",
        "s1234": "Strategy 4 on top of those",
    }
    for stage, title in titles.items():
        lines += [f"### {title}", ""]
        lines += ["| network | simulated | paper | error |", "|---|---|---|---|"]
        ours = {name: stages(found[name])[stage] for name in NETWORKS}
        for name in NETWORKS:
            lines.append(f"| {name} | {cells(ours[name], STAGES[name][stage])} |")
        if stage == "all":
            mean = sum(ours.values()) / len(ours)
            lines.append(f"| mean | {cells(mean, MEAN)} |")
            near = sum(abs(ours[n] / STAGES[n][stage] - 1) <= TOTAL_GOAL for n in NETWORKS)
            mean_word = "is" if abs(mean / MEAN - 1) <= MEAN_GOAL else "is not"
            lines += [
                "",
                f"{near} of 4 networks are within {TOTAL_GOAL * 100:.0f} %, which is the goal; the "
                f"mean {mean_word} within {MEAN_GOAL * 100:.0f} %.",
            ]
        lines.append("")
    return lines


def alone_table(found: Mapping[str, Any]) -> List[str]:
    lines = [
        "### Strategy 1 alone",
        "",
        "The paper has no figure of it, and says that it may lose to the recommendation (III-D).",
        "Here it gains, most where many instances of an op are much shorter than its slowest.",
        "",
        "| network | simulated | with strategy 2 |",
        "|---|---|---|",
    ]
    for name in NETWORKS:
        seconds = {key: one["step_seconds"] for key, one in found[name]["strategies"].items()}
        base = seconds["recommendation"]
        lines.append(f"| {name} | {base / seconds['s1']:.2f} | {base / seconds['s12']:.2f} |")
    return lines + [""]


def corunning_table(found: Mapping[str, Any]) -> List[str]:
    lines = [
        "## Figure 4: how many ops run side by side",
        "",
        "Over 6,000 launches and finishes in the middle of a step, as the paper counts, or over",
        "all where a step has fewer (`dcgan`); the last column is over all of them.",
        "",
        "| network | strategy 4 | simulated | paper | error | over all |",
        "|---|---|---|---|---|---|",
    ]
    for name, theirs in CORUNNING.items():
        for stage, word, paper in zip(("s123", "s1234"), ("without", "with"), theirs):
            ours = found[name]["strategies"][stage]
            lines.append(
                f"| {name} | {word} | {cells(ours['corunning_in_the_middle'], paper)} | "
                f"{ours['corunning_mean']:.2f} |"
            )
    return lines + [""]


def manual_table(found: Mapping[str, Any]) -> List[str]:
    lines = [
        "## The manual optimum",
        "",
        "The best uniform setting, and how all strategies stand against it. Cost of the paper's:",
        "how much longer a step takes here at the setting that was best there.",
        "",
        "| network | simulated (inter, intra) | paper | cost of the paper's "
        "| all against it | paper | error |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, (setting, against) in MANUAL.items():
        manual = found[name]["manual"]
        theirs = found[name]["uniform"][f"{setting[0]},{setting[1]}"]
        ours = manual["step_seconds"] / found[name]["strategies"]["s1234"]["step_seconds"]
        lines.append(
            f"| {name} | {manual['inter']}, {manual['intra']} | {setting[0]}, {setting[1]} | "
            f"{error(theirs, manual['step_seconds'])} | {cells(ours, against)} |"
        )
    return lines + [""]


def ranks_agree(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    """Share of pairs of settings that both put in the same order."""
    keys = sorted(theirs)
    pairs = [(a, b) for i, a in enumerate(keys) for b in keys[i + 1:]]
    same = sum((ours[a] < ours[b]) == (theirs[a] < theirs[b]) for a, b in pairs)
    return same / len(pairs)


def table_i(found: Mapping[str, Any]) -> List[str]:
    lines = ["## Table I: uniform settings", ""]
    for name, theirs in TABLE_I.items():
        ours = {key: found[name]["uniform"][key] * 1e3 for key in theirs}
        lines += [
            f"### {name}",
            "",
            "| inter, intra | ms | paper | error | gain over (1, 68) | paper | error |",
            "|---|---|---|---|---|---|---|",
        ]
        for key in theirs:
            gains = ours["1,68"] / ours[key], theirs["1,68"] / theirs[key]
            lines.append(
                f"| {key.replace(',', ', ')} | {ours[key]:.0f} | {theirs[key]} | "
                f"{error(ours[key], theirs[key])} | {cells(*gains)} |"
            )
        agree = ranks_agree(ours, theirs)
        lines += ["", f"Of all pairs of settings {agree * 100:.0f} % are in the same order.", ""]
    return lines


def table_iii(found: Mapping[str, Any]) -> List[str]:
    ours = found["pair"]["uniform"]
    lines = [
        "## Table III: two ops side by side",
        "",
        "Over one after the other on 68 threads each.",
        "",
        "| | simulated | paper | error |",
        "|---|---|---|---|",
    ]
    words = {"2,68": "both on all cores, through hardware threads", "2,34": "34 cores each"}
    for key, word in words.items():
        lines.append(f"| {word} | {cells(ours['1,68'] / ours[key], TABLE_III[key])} |")
    return lines + [""]


def moved(found: Mapping[str, Any]) -> List[float]:
    """What the table of assumptions shows of a world, in the order of MOVED."""
    gain = {name: stages(found[name]) for name in NETWORKS}
    uniform = {name: found[name]["uniform"] for name in NETWORKS}
    pair = found["pair"]["uniform"]
    against = [
        found[n]["manual"]["step_seconds"] / found[n]["strategies"]["s1234"]["step_seconds"]
        for n in NETWORKS
    ]
    return [
        sum(gain[n]["all"] for n in NETWORKS) / len(NETWORKS),
        gain["inception_v3"]["s1234"],
        found["resnet50"]["strategies"]["s1234"]["corunning_in_the_middle"],
        sum(against) / len(against),
        pair["1,68"] / pair["2,34"],
        pair["1,68"] / pair["2,68"],
        *(
            uniform[name]["1,68"] / uniform[name][setting]
            for name in TABLE_I
            for setting in ("2,34", "4,34", "4,68")
        ),
    ]


MOVED = (
    ("all strategies over the recommendation, mean", MEAN),
    ("strategy 4, inception_v3", STAGES["inception_v3"]["s1234"]),
    ("ops side by side, resnet50", CORUNNING["resnet50"][1]),
    ("all against the manual optimum, mean", sum(one[1] for one in MANUAL.values()) / 4),
    ("the pair on 34 cores each", TABLE_III["2,34"]),
    ("the pair through hardware threads", TABLE_III["2,68"]),
    *(
        (f"{name} at {setting.replace(',', ', ')} over 1, 68", cells["1,68"] / cells[setting])
        for name, cells in TABLE_I.items()
        for setting in ("2,34", "4,34", "4,68")
    ),
)


def assumptions_table(worlds: Mapping[str, Any]) -> List[str]:
    lines = [
        "## What the assumptions do",
        "",
        "Each changes one thing: a number of the [models](simulator.md#the-models-fixed), or, the",
        "last, how fast ops may be on few cores. None was adopted: what one of them brings nearer",
        "to the paper, others pay for.",
        "",
    ]
    for number, words in enumerate(WORLDS.values()):
        lines.append(f"{number}. {words}" if number else "0. as it is")
    head = " | ".join(str(number) for number in range(len(WORLDS)))
    lines += ["", f"| | paper | {head} |", "|---" * (len(WORLDS) + 2) + "|"]
    columns = [moved(worlds[name]) for name in WORLDS]
    for row, (words, paper) in enumerate(MOVED):
        ours = " | ".join(f"{column[row]:.2f}" for column in columns)
        lines.append(f"| {words} | {paper:.2f} | {ours} |")
    return lines + [""]


def every_prediction(found: Mapping[str, Any]) -> Iterator[Tuple[str, float, float]]:
    """What is predicted, as a name, our number and the paper's; what was fitted is left out."""
    for name in NETWORKS:
        for stage in ("s123", "s1234", "all"):
            yield f"Figure 3, {stage}, {name}", stages(found[name])[stage], STAGES[name][stage]
    for name, theirs in CORUNNING.items():
        for stage, paper in zip(("s123", "s1234"), theirs):
            ours = found[name]["strategies"][stage]["corunning_in_the_middle"]
            yield f"Figure 4, {stage}, {name}", ours, paper
    for name, (_, against) in MANUAL.items():
        manual = found[name]["manual"]["step_seconds"]
        ours = manual / found[name]["strategies"]["s1234"]["step_seconds"]
        yield f"all against the manual optimum, {name}", ours, against
    for name, theirs in TABLE_I.items():
        uniform = {key: found[name]["uniform"][key] * 1e3 for key in theirs}
        for key, paper in theirs.items():
            yield f"Table I, ms, {name}, {key}", uniform[key], paper
            if key != "1,68":
                ours = uniform["1,68"] / uniform[key]
                yield f"Table I, gain, {name}, {key}", ours, theirs["1,68"] / paper
    pair = found["pair"]["uniform"]
    for key, paper in TABLE_III.items():
        yield f"Table III, {key}", pair["1,68"] / pair[key], paper


def reason(name: str) -> str:
    """Which paragraph of the notes says why a prediction misses; the first that fits."""
    return next(words for part, words in WHY if re.search(part, name))


def misses(found: Mapping[str, Any]) -> List[Tuple[str, float, float]]:
    return [one for one in every_prediction(found) if abs(one[1] / one[2] - 1) > TOTAL_GOAL]


def misses_table(found: Mapping[str, Any]) -> List[str]:
    missed = misses(found)
    count = sum(1 for _ in every_prediction(found))
    lines = [
        "## What misses by more than 10 %",
        "",
        f"{len(missed)} of {count} predictions; why, is said below under the name in the last",
        "column. Beside those, three of the four best uniform settings are not the paper's.",
        "",
        "| prediction | simulated | paper | error | why |",
        "|---|---|---|---|---|",
    ]
    for name, ours, paper in missed:
        digits = 0 if ", ms, " in name else 2
        lines.append(
            f"| {name} | {ours:.{digits}f} | {paper:.{digits}f} | {error(ours, paper)} | "
            f"{reason(name)} |"
        )
    return lines + [""]


def document(worlds: Mapping[str, Any]) -> str:
    found = worlds["standard"]
    lines = stage_tables(found) + alone_table(found) + corunning_table(found)
    lines += manual_table(found)
    lines += table_i(found) + table_iii(found) + misses_table(found) + assumptions_table(worlds)
    return HEAD + "\n".join(lines) + "\n" + NOTES


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=pathlib.Path, help="predictions of a build")
    parser.add_argument("--write", action="store_true", help="write docs/results/fit.md")
    options = parser.parse_args(arguments)
    text = document(predicted(options.tool))
    if options.write:
        DOCUMENT.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
