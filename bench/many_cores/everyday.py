#!/usr/bin/python3
"""Whether everyday programs are ever slower under optile, on a machine with many cores.

    bench/many_cores/run.sh everyday --out results

Each program runs bare and under optile in turn, as often as the given time allows; those whose
packages or GPU are missing are named. Plans are kept from run to run, as a user's are.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import blas_provider  # noqa: E402
import ratios  # noqa: E402
import settings  # noqa: E402
import tables  # noqa: E402
import workload_run  # noqa: E402
from everyday_program import PROGRAMS  # noqa: E402
from private_daemon import PrivateDaemon  # noqa: E402
from workload_run import progress  # noqa: E402

LIMIT_SECONDS = 60.0
# Of the report of a run: what tells why it was slower.
REPORTED = ("phase", "decision", "steps", "sampled_steps", "launch_plan", "default_width",
            "fallbacks")
Json = Dict[str, Any]


def run_once(name: str, prefix: Sequence[str], python: str, limit: float) -> Json:
    """The seconds of the program's work and of all of it, or what kept it from working."""
    env = settings.clean_environment(blas_provider.WITHIN_PYTORCH)
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [*prefix, python, str(HERE / "everyday_program.py"), name], env=env, timeout=limit,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {limit:.0f} s"}
    whole = time.monotonic() - begin
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return {"failed": f"ended with {done.returncode}: {said[-1] if said else 'silently'}"}
    return {"work": float(done.stdout.strip().splitlines()[-1]), "whole": whole}


def measure(names: List[str], python: str, build: pathlib.Path, until: float) -> Json:
    found: Json = {name: {"bare": [], "optile": []} for name in names}
    took: Dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="optile-bench-") as folder:
        with PrivateDaemon(build, pathlib.Path(folder), "everyday") as daemon:
            prefix = daemon.prefix([])
            rounds = 0
            while any("failed" not in found[name] for name in names):
                for name in [one for one in names if "failed" not in found[one]]:
                    left = until - time.monotonic()
                    if left < took.get(name, 20.0):
                        return found
                    begin = time.monotonic()
                    ways = [("bare", ()), ("optile", prefix)]
                    made = {}
                    for way, words in ways if rounds % 2 == 0 else reversed(ways):
                        made[way] = run_once(name, words, python, min(LIMIT_SECONDS, left))
                    failed = [f"{way} {one['failed']}" for way, one in made.items()
                              if "failed" in one]  # fmt: skip
                    took[name] = time.monotonic() - begin
                    if failed:
                        found[name]["failed"] = "; ".join(failed)
                        progress(f"{name}: {found[name]['failed']}")
                        continue
                    report = workload_run.load(daemon.report)
                    made["optile"]["report"] = {word: report.get(word) for word in REPORTED}
                    for way, one in made.items():
                        found[name][way].append(one)
                    progress(f"{name}: {made['bare']['work']:.2f} s bare, "
                             f"{made['optile']['work']:.2f} s under optile")  # fmt: skip
                rounds += 1
    return found


def ratio_of(found: Json, what: str) -> Optional[ratios.Ratio]:
    if not found["bare"]:
        return None
    seconds = [[one[what] for one in found[way]] for way in ("bare", "optile")]
    return ratios.times_as_fast(*seconds)


def lines(result: Json) -> List[str]:
    rows, missing = [], []
    for name, found in result["programs"].items():
        work, whole = ratio_of(found, "work"), ratio_of(found, "whole")
        if "failed" in found:
            missing.append(f"- {name}: {found['failed']}")
        if work is None or whole is None:
            continue
        bare = ratios.geometric_mean([one["work"] for one in found["bare"]])
        rows.append([name, f"{bare:.2f}", str(work), str(whole), str(work.rounds)])
    header = ("program", "seconds of work, bare", "optile: work", "with its start", "n")
    return [
        tables.machine_words(result["machine"]) + "; " + result["machine"]["utc"], "",
        *tables.table(header, rows), *([""] if missing else []), *missing,
    ]  # fmt: skip


def main(arguments: List[str]) -> int:
    begin = time.monotonic()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("everyday"))
    parser.add_argument("--seconds", type=float, default=300.0, help="in all (default 300)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(PROGRAMS)} (all)")
    options = parser.parse_args(arguments)
    for name in options.programs:
        if name not in PROGRAMS:
            parser.error(f"no program {name}: there are {', '.join(PROGRAMS)}")
    names = options.programs or list(PROGRAMS)
    options.out.mkdir(parents=True, exist_ok=True)
    result: Json = {"kind": "everyday", "machine": settings.machine_description()}
    result["programs"] = measure(
        names, options.python, options.build.resolve(), begin + options.seconds
    )
    workload_run.write_json(options.out / "everyday.json", result)
    text = "\n".join(lines(result)) + "\n"
    (options.out / "everyday.md").write_text(text, encoding="utf-8")
    print(text)
    return 1 if any("failed" in found for found in result["programs"].values()) else 0


if __name__ == "__main__":
    sys.exit(workload_run.command_line("everyday", main))
