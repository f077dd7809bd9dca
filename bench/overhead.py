#!/usr/bin/python3
"""What optile costs on this machine: docs/results/overhead.md is made by this.

    bench/overhead.py --write docs/results/overhead.md

It takes about six minutes and wants a machine that does nothing else. Every figure is a median with
an interval that holds 95 % of resampled medians; differences are taken inside each round.
Instructions are counted by valgrind, as the difference of two run lengths.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import private_daemon
import ratios
import settings
import workload_run
from private_daemon import PrivateDaemon
from workload_run import RunError, Workload, progress

ROUNDS = 101
START_ROUNDS = 31
LISTENED_ROUNDS = 200
REST_STEPS = (200, 840)
SCRAPES = 200
IDLE_SECONDS = 5.0
PROVIDER = "openblas-pthread"
WORKLOAD = "lstm"
COUNTED = (20000, 40000)
TIERS = ("which this machine does not grant", "the kernel's", "the processor's")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

# Of the table of costs: what it is, the case, what it is compared with, and the goal.
CASES: Sequence[Tuple[str, str, Optional[str], str]] = (
    ("an op at the program's default width", "op at its default width", None, ""),
    ("setting and restoring a width", "op at another width", "op at its default width", "150"),
    ("recording an event", "op with its event recorded", "op at its default width", ""),
    ("reading counters, {tier}", "op with counters read", "op with its event recorded", ""),
    ("a region inside an op", "region inside an op", "region of the runtime alone", "30"),
    ("a region outside any op", "region outside any op", "region of the runtime alone", ""),
)


def shown(values: Sequence[float], digits: int = 1, factor: float = 1.0) -> str:
    low, high = ratios.interval([values], lambda drawn: statistics.median(drawn[0]))
    texts = [f"{factor * value:.{digits}f}" for value in (statistics.median(values), low, high)]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def run_text(command: Sequence[str], **options: Any) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, check=False, **options)  # fmt: skip
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


# --- per op and per region ----------------------------------------------------------------------


def instructions(program: pathlib.Path, case: str) -> Optional[float]:
    if shutil.which("valgrind") is None:
        return None
    counts = []
    for iterations in COUNTED:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program),
             "--case", case, "--iterations", str(iterations)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        found = re.search(r"Collected : (\d+)", done.stderr)
        if found is None:
            return None
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / (COUNTED[1] - COUNTED[0])


def core_rows(build: pathlib.Path) -> List[str]:
    program = build / "bin" / "op_costs"
    if not program.exists():
        raise RunError(f"{program} is missing: ./dev build")
    progress("per op and per region")
    environment = {**os.environ, "OPTILE_BRIDGE_DIR": str(build / "lib")}
    rounds = ["--rounds", str(ROUNDS)]
    times: Dict[str, List[float]] = json.loads(run_text([str(program), *rounds]))
    times.update(json.loads(
        run_text([str(program), "--counters", "1", *rounds], env=environment)))  # fmt: skip
    tier = TIERS[int(times["counter tier"][0])]
    rows = ["| what | ns | instructions | goal, ns |", "|---|---|---|---|"]
    counted: Dict[str, Optional[float]] = {}
    for text, case, against, goal in CASES:
        values = times[case]
        for name in (case, against):
            if name is not None and name not in counted:
                # Reading counters is mostly the kernel's work, which valgrind does not see.
                kernel = name == "op with counters read"
                counted[name] = None if kernel else instructions(program, name)
        count = counted[case]
        if against is not None:
            values = [one - other for one, other in zip(values, times[against])]
            other_count = counted[against]
            count = None if count is None or other_count is None else count - other_count
        number = "not counted" if count is None else f"{count:.0f}"
        name = text.format(tier=tier)
        rows.append(f"| {name} | {shown(values)} | {number} | {goal and '≤ ' + goal} |")
    return rows


# --- starting a program -------------------------------------------------------------------------


def wall(command: Sequence[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)  # fmt: skip
    return time.perf_counter() - begin


def start_rows(build: pathlib.Path, daemon: PrivateDaemon) -> List[str]:
    progress("starting a program")
    optile = str(build / "bin" / "optile")
    to_daemon = ["--socket", str(daemon.socket)]
    ways: Mapping[str, Callable[[List[str]], List[str]]] = {
        "alone": lambda command: command,
        "`--mode off`": lambda command: [optile, "run", "--mode", "off", "--", *command],
        "tuned": lambda command: [optile, "run", *to_daemon, "--", *command],
    }
    rows = ["| program | alone, ms | + with `--mode off`, ms | + tuned, ms |", "|---|---|---|---|"]
    for text, command in (("`true`", ["/bin/true"]),
                          ("`python3 -c pass`", ["/usr/bin/python3", "-c", "pass"])):  # fmt: skip
        times: Dict[str, List[float]] = {name: [] for name in ways}
        for _ in range(START_ROUNDS):
            for name, form in ways.items():
                times[name].append(wall(form(list(command))))
        extra = [[one - alone for one, alone in zip(times[name], times["alone"])]
                 for name in list(ways)[1:]]  # fmt: skip
        cells = [shown(values, 2, 1e3) for values in (times["alone"], *extra)]
        rows.append(f"| {text} | {' | '.join(cells)} |")
    return rows


# --- the daemon ---------------------------------------------------------------------------------


def processor_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def wakeups(pid: int) -> int:
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


class Share:
    """Of one core, between two looks at the daemon."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._begin = (time.monotonic(), processor_seconds(pid))

    def percent(self) -> float:
        now = (time.monotonic(), processor_seconds(self._pid))
        return 100 * (now[1] - self._begin[1]) / (now[0] - self._begin[0])


def tuned_daemon_rows(daemon: PrivateDaemon, pid: int) -> List[str]:
    """A training program from its start until well after its plan has settled."""
    progress(f"the daemon under {WORKLOAD}")
    command = [*daemon.prefix([]), *Workload(WORKLOAD).command(100000, 0, daemon.report)]
    process = subprocess.Popen(
        command, env=settings.clean_environment(PROVIDER), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        phase, end = "", time.monotonic() + 240
        while phase == "" and time.monotonic() < end:
            time.sleep(0.2)
            phase = phase_of(daemon)
        share = Share(pid)
        while phase != "tuned" and time.monotonic() < end:
            time.sleep(0.5)
            phase = phase_of(daemon)
        if phase != "tuned":
            raise RunError("the program was not tuned in time")
        profiling = share.percent()
        time.sleep(5)
        share = Share(pid)
        time.sleep(30)
        steady = share.percent()
        scrapes = scrape_row(daemon)
    finally:
        workload_run.end_process(process)
    return [
        f"| while profiling, % of a core | {profiling:.2f} | ≤ 3 |",
        f"| with a tuned program, % of a core | {steady:.2f} | ≤ 0.5 |",
        scrapes,
    ]


def phase_of(daemon: PrivateDaemon) -> str:
    for client in daemon.get("/v1/clients").get("clients", []):
        if client.get("state") == "running":
            return str(client.get("phase", ""))
    return ""


def scrape_row(daemon: PrivateDaemon) -> str:
    times: List[float] = []
    series = 0
    for _ in range(SCRAPES):
        connection = private_daemon._UnixConnection(daemon.socket)
        begin = time.perf_counter()
        connection.request("GET", "/metrics")
        body = connection.getresponse().read().decode()
        times.append(time.perf_counter() - begin)
        connection.close()
        series = sum(1 for line in body.splitlines() if line and not line.startswith("#"))
    return f"| a scrape of {series} series, ms | {shown(times, 2, 1e3)} | ≤ 10 |"


def daemon_rows(daemon: PrivateDaemon) -> List[str]:
    pid = int(daemon.get("/v1/status")["pid"])
    progress("the daemon without clients")
    before = wakeups(pid)
    time.sleep(IDLE_SECONDS)
    rows = ["| what | figure | goal |", "|---|---|---|"]
    rows.append(f"| times it woke up in {IDLE_SECONDS:.0f} s without clients |"
                f" {wakeups(pid) - before} | 0 |")  # fmt: skip
    return rows + tuned_daemon_rows(daemon, pid)


# --- a whole step -------------------------------------------------------------------------------


def step_rows(build: pathlib.Path, daemon: PrivateDaemon) -> List[str]:
    progress(f"a step of {WORKLOAD}, listened to and not")
    environment = {**settings.clean_environment(PROVIDER), **same_threads()}
    script = pathlib.Path(__file__).resolve().parent / "overhead" / "sampled_steps.py"
    found = json.loads(run_text(
        ["/usr/bin/python3", str(script), "--build", str(build), "--workload", WORKLOAD,
         "--rounds", str(LISTENED_ROUNDS)], env=environment))  # fmt: skip
    extra = [one - other for one, other in zip(found["listened"], found["rest"])]
    per_op = [one / found["ops"] for one in extra]
    listened = ratios.times_as_fast(found["listened"], found["rest"])
    share = listened_share(daemon, environment)
    return ["| what | figure | goal |", "|---|---|---|",
            f"| a step of {WORKLOAD}, ms | {shown(found['rest'], 1, 1e3)} | |",
            f"| outermost ops in it | {found['ops']} | |",
            f"| a step that is listened to, times as long | {listened} | |",
            f"| listening, µs an outermost op | {shown(per_op, 2, 1e6)} | |",
            f"| steps that are listened to while no width is changed, % | {100 * share:.1f} | |",
            f"| a step while no width is changed, times as long |"
            f" {1 + share * (listened.value - 1):.4f} | ≤ 1.003 |"]  # fmt: skip


def same_threads() -> Dict[str, str]:
    return {"LD_PRELOAD": settings.libomp_path(), "KMP_BLOCKTIME": "1",
            "OMP_NUM_THREADS": str(settings.physical_cores())}  # fmt: skip


def listened_share(daemon: PrivateDaemon, environment: Mapping[str, str]) -> float:
    """Of the later steps of a long run; the first ones are all listened to."""
    prefix = daemon.prefix(["--launch", "keep", "--mode", "observe"])
    counts: List[Tuple[int, int]] = []
    for steps in REST_STEPS:
        progress(f"  {steps} steps, observed")
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "run.json"
            run_text([*prefix, *Workload(WORKLOAD).command(steps, 0, output)], env=environment)
        report = json.loads(daemon.report.read_text(encoding="utf-8"))
        counts.append((report["steps"], report["unsampled_steps"]))
    (few, few_unsampled), (many, many_unsampled) = counts
    return 1 - (many_unsampled - few_unsampled) / (many - few)


# --- the document -------------------------------------------------------------------------------


def document(sections: Sequence[Tuple[str, str, Sequence[str]]], load: float) -> str:
    machine = settings.machine_description()
    lines = [
        "# What optile costs",
        "",
        "Made by `bench/overhead.py --write docs/results/overhead.md`; do not edit. Figures are "
        "of one",
        "machine and one day: medians with the interval that holds 95 % of resampled medians. "
        "Goals are what",
        "optile sets itself.",
        "",
        f"{machine['model']}, {machine['usable_cores']} cores, Linux {machine['kernel']}, "
        f"{datetime.date.today().isoformat()};",
        f"load average {load:.2f} before it began.",
    ]
    for title, text, rows in sections:
        lines += ["", f"## {title}", "", text, "", *rows]
    return "\n".join(lines) + "\n"


def parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--write", type=pathlib.Path, help="the document; by default stdout")
    return parser.parse_args(arguments)


def main(arguments: List[str]) -> int:
    options = parse(arguments)
    build = options.build.resolve()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        with PrivateDaemon(build, pathlib.Path(folder), "d") as daemon:
            sections = [
                ("In the program",
                 "The shim's own functions, without a program around them. Setting a width is a "
                 "thread-local\nword of the OpenMP runtime; what a runtime then pays for another "
                 "team is not in it.", core_rows(build)),
                ("Starting a program", "What the launcher adds, with a daemon that is there.",
                 start_rows(build, daemon)),
                ("The daemon", "One client, PyTorch's LSTM language model.", daemon_rows(daemon)),
                ("A step", "Pairs of steps in one process, every op at the program's default "
                 "width: what is left is the price\nof being there. A plan that changes widths is "
                 "listened to in every step, and has to gain more\nthan that to be chosen.",
                 step_rows(build, daemon)),
            ]  # fmt: skip
    text = document(sections, load)
    if options.write is None:
        sys.stdout.write(text)
    else:
        options.write.write_text(text, encoding="utf-8")
        progress(f"wrote {options.write}")
    return 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("overhead", main))
