"""Real programs of Debian's packages: bare and under `optile run` they end the same way and say the
same, and what optile saw of each is written down. By itself

    python3 test_compatibility.py --write ../../docs/compatibility.md

makes the document; as a test the programs are only run and compared."""
import json
import pathlib
import sys
import unittest

import harness
from harness import EndToEndTest, blas

sys.path.insert(0, str(harness.SOURCE / "compatibility"))
from programs import PROGRAMS  # noqa: E402  (beside the other programs, not beside this file)

INTRODUCTION = """# What optile sees of real programs

Made by `tests/e2e/test_compatibility.py --write docs/compatibility.md`, which runs every program
bare and under `optile run`, with two threads that do not spin; do not edit. In this run {same} of
{all} ended with the same exit code and the same output. *Observed* is the share of the program's
repeated steps that lay inside ops, *steerable* the share whose width optile could set; a dash says
that no step repeated long enough to tell. They are of one run on a machine with other work.

| package | what it did | runtime | loaded | same | observed | steerable | why not more |
|---|---|---|---|---|---|---|---|
"""


class Outcome:
    """One program, bare and launched."""

    def __init__(self, space, program):
        env = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive",
               **(blas(program.blas) if program.blas else {})}
        self.program = program
        self.bare = space.untouched(program.command, env)
        space.untouched(["rm", "-rf", "r", "answer"])
        path = space.dir / "report.json"
        path.unlink(missing_ok=True)
        self.launched = space.launched(program.command, "--report", path, env=env)
        space.untouched(["rm", "-rf", "r", "answer"])
        print(program.package, program.work, self.same(), file=sys.stderr)
        self.report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def same(self):
        return (self.bare.code, self.bare.stdout) == (self.launched.code, self.launched.stdout)

    def share(self, name):
        value = (self.report.get("coverage") or {}).get(name)
        return "-" if not value or not self.report.get("steps") else f"{100 * value:.0f} %"

    def why(self):
        if self.report.get("state") == "unknown" or "coverage" not in self.report:
            return "no OpenMP region, no large product: nothing to attach for"
        if not self.report.get("steps"):
            return "no step repeats"
        if self.share("steered") == "-":
            return "nothing in it takes a width: observed only"
        return ""

    def row(self):
        one = self.program
        cells = [one.package, one.work, one.runtime, one.loaded, "yes" if self.same() else "NO",
                 self.share("observed"), self.share("steered"), self.why()]
        return "| " + " | ".join(cells) + " |\n"


class Compatibility(EndToEndTest):
    def test_every_program_runs_as_without_optile(self):
        self.space.start_daemon()
        self.assertGreaterEqual(len(PROGRAMS), 20)
        for program in PROGRAMS:
            with self.subTest(package=program.package, work=program.work):
                outcome = Outcome(self.space, program)
                self.assertEqual(0, outcome.bare.code, outcome.bare)
                self.assert_same_run(outcome.bare, outcome.launched)


def write(path):
    space = harness.Workspace()
    try:
        space.start_daemon()
        outcomes = [Outcome(space, program) for program in PROGRAMS]
        same = sum(outcome.same() for outcome in outcomes)
        text = INTRODUCTION.format(same=same, all=len(outcomes))
        path.write_text(text + "".join(outcome.row() for outcome in outcomes), encoding="utf-8")
    finally:
        space.close()
    return 0 if same == len(outcomes) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        sys.exit(write(pathlib.Path(sys.argv[2])))
    unittest.main()
