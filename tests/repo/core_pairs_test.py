#!/usr/bin/python3
"""tools/core_pairs.py: every core is in one pair, and a command runs on the one that was chosen."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import core_pairs  # noqa: E402

SHOW = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]


def run(environment):
    done = subprocess.run([sys.executable, ROOT / "tools/core_pairs.py", "run", *SHOW],
                          env={**os.environ, **environment}, capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout.strip(), done.stderr


class CorePairs(unittest.TestCase):
    def test_cover_every_core_once(self):
        self.assertEqual([[0]], core_pairs.pairs([0]))
        self.assertEqual([[0, 1]], core_pairs.pairs([0, 1]))
        self.assertEqual([[0, 1, 5]], core_pairs.pairs([0, 1, 5]))
        self.assertEqual([[2, 3], [6, 7]], core_pairs.pairs([2, 3, 6, 7]))

    def test_match_specification_of_ctest(self):
        self.assertEqual({"version": {"major": 1, "minor": 0},
                          "local": [{"pairs": [{"id": "0_1", "slots": 2},
                                               {"id": "2_3", "slots": 2}]}]},
                         json.loads(core_pairs.specification([0, 1, 2, 3])))

    def test_confine_command_to_its_pair(self):
        cpu = max(os.sched_getaffinity(0))
        for slots in (1, 2):
            self.assertEqual((0, f"[{cpu}]", ""),
                             run({core_pairs.CHOSEN: f"id:{cpu},slots:{slots}"}))

    def test_give_all_cores_without_choice(self):
        everything = str(sorted(os.sched_getaffinity(0)))
        self.assertEqual((0, everything, ""), run({}))

    def test_refuse_unknown_choice(self):
        code, _, error = run({core_pairs.CHOSEN: "id:gpu,slots:2"})
        self.assertNotEqual(0, code)
        self.assertIn("no pair of cores", error)


if __name__ == "__main__":
    unittest.main()
