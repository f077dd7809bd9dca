"""Real programs of Debian's packages and from pip: bare and under `optile run` they end the same
way and say the same, and what optile saw of each is written down. By itself

    python3 -m host_programs.test_compatibility --write ../../docs/guide/compatibility.md

makes the document; as a test the programs are only run and compared. With

    python3 -m host_programs.test_compatibility --repeats 100 [--only PART-OF-A-PACKAGES-NAME]

each is launched so often, and every run is compared with the bare one. That takes an hour or so."""
import argparse
import json
import pathlib
import sys
import unittest

from support import harness
from support.harness import EndToEndTest, blas

sys.path.insert(0, str(harness.SOURCE / "compatibility"))
from programs import PROGRAMS, Program  # noqa: E402  (beside the other programs)

# Inductor compiles, and some wait by spinning, on a machine that may be full.
LONG = 4 * harness.DEADLINE

BY_HAND = "\n## Launchers and bindings\n"  # this section and all behind it
INTRODUCTION = """# What optile sees of real programs

Made by `tests/e2e/host_programs/test_compatibility.py --write docs/guide/compatibility.md`, which
runs every program bare and under `optile run`, with two threads that do not spin; do not edit the
table. In this run {same} of {all} ended with the same exit code and the same output. *Observed* is
the share of the program's repeated steps that lay inside ops, *steerable* the share whose width
optile could set; a dash says that no step repeated long enough to tell. They are of one run on a
machine with other work; of several processes it is the one that spent the most time in steps. *Run
on libomp*: optile's launch plan put LLVM's runtime in its place. Debian 12 has no program that is
linked with LLVM's runtime, so clang compiles two of libraries that people build into theirs.

| package | what it did | runtime | loaded | same | observed | steerable | why not more |
|---|---|---|---|---|---|---|---|
"""


class Outcome:
    """One program, bare and launched, once or several times: later runs start from what the
    earlier ones left in the store."""

    def __init__(self, space, program, repeats=1):
        env = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive",
               **(blas(program.blas) if program.blas else {})}
        if program.bridge:
            env["XDG_CACHE_HOME"] = space.bridges()
        self.program = program
        self.bare = space.untouched(program.command, env, deadline=LONG)
        space.untouched(["rm", "-rf", "r", "answer"])
        self.others = []  # launched runs that did not end as the bare one
        for _ in range(repeats):
            path = space.dir / "report.json"
            path.unlink(missing_ok=True)
            self.launched = space.launched(program.command, "--report", path, *program.options,
                                           env=env, deadline=LONG)
            space.untouched(["rm", "-rf", "r", "answer"])
            if (self.bare.code, self.bare.stdout) != (self.launched.code, self.launched.stdout):
                self.others.append(self.launched)
        print(f"{program.package}, {program.work}: {repeats - len(self.others)} of {repeats} the "
              "same", file=sys.stderr, flush=True)
        self.report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        run = self.report.get("run_id")
        clients = space.get("/v1/clients")["clients"]
        self.attached = sum(client["run_id"] == run for client in clients)

    def same(self):
        return not self.others

    def share(self, name):
        value = (self.report.get("coverage") or {}).get(name)
        return "-" if not value or not self.report.get("steps") else f"{100 * value:.0f} %"

    def why(self):
        if self.report.get("state") == "unknown" or "coverage" not in self.report:
            return "no OpenMP region, no large product: nothing to attach for"
        if self.report.get("whole_program"):
            return "attached as a whole program: its threads are not steered by op"
        said = [] if self.attached < 2 else [f"{self.attached} processes attached"]
        if not self.report.get("steps"):
            return "; ".join([*said, "no step repeats"])
        coverage = self.report["coverage"]
        if coverage["steered"] < coverage["observed"] - 0.05:
            regions = any(op["name"].startswith("region ") for op in self.report["ops"])
            said.append("regions of its own are only observed without --regions=tune" if regions
                        else "some of its ops take no width" if coverage["steered"] > 0
                        else "nothing in it takes a width: observed only")
        return "; ".join(said)

    def runtime(self):
        replaced = self.report.get("openmp_runtime") == "libomp"
        return (self.program.runtime.replace("libgomp", "libgomp (run on libomp)") if replaced
                else self.program.runtime)

    def row(self):
        one = self.program
        cells = [one.package, one.work, self.runtime(), one.loaded, "yes" if self.same() else "NO",
                 self.share("observed"), self.share("steered"), self.why()]
        return "| " + " | ".join(cells) + " |\n"


class PackagedPrograms(EndToEndTest):
    def test_end_as_untouched(self):
        self.space.start_daemon()
        self.assertGreaterEqual(len(PROGRAMS), 20)
        for program in (one for one in PROGRAMS if not one.long):
            with self.subTest(package=program.package, work=program.work):
                outcome = Outcome(self.space, program)
                self.assertEqual(0, outcome.bare.code, outcome.bare)
                self.assert_same_run(outcome.bare, outcome.launched)

    def test_report_repeat_with_other_output(self):
        self.space.start_daemon()
        counter = self.space.dir / "counter"
        # Says another word in its third run: the second of the launched ones.
        script = 'echo >> "$0"; test "$(wc -l < "$0")" -eq 3 && echo other || echo one'
        told = Program("bash", "a counter", "none", "-", ["bash", "-c", script, str(counter)])
        outcome = Outcome(self.space, told, repeats=3)
        self.assertEqual(["other\n"], [run.stdout for run in outcome.others])
        self.assertFalse(outcome.same())


def ran_all(programs, repeats):
    """Outcomes of all, with a daemon of their own."""
    space = harness.Workspace()
    try:
        space.start_daemon()
        return [Outcome(space, program, repeats) for program in programs]
    finally:
        space.close()


def main(options):
    programs = [one for one in PROGRAMS if options.only in one.package]
    outcomes = ran_all(programs, options.repeats)
    for outcome in outcomes:
        if not outcome.same():
            print(f"{outcome.program.package}, {outcome.program.work}: bare {outcome.bare}\n"
                  f"and launched {outcome.others[0]}", file=sys.stderr)
    same = sum(outcome.same() for outcome in outcomes)
    print(f"{same} of {len(outcomes)} programs the same in {options.repeats} runs each")
    if options.write:
        text = INTRODUCTION.format(same=same, all=len(outcomes))
        _, section, by_hand = options.write.read_text(encoding="utf-8").partition(BY_HAND)
        rows = "".join(outcome.row() for outcome in outcomes)
        options.write.write_text(text + rows + section + by_hand, encoding="utf-8")
    return 0 if outcomes and same == len(outcomes) else 1


def count(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--repeats", type=count, default=1)
    parser.add_argument("--only", default="")
    parsed, rest = parser.parse_known_args()
    if len(rest) < len(sys.argv) - 1:
        sys.exit(main(parsed) if not rest else f"unknown: {' '.join(rest)}")
    unittest.main()
