"""The pure parts of bench/together.py: splits, and which setting each program is compared with."""

import argparse
import os
import pathlib
import sys
import unittest
from unittest import mock

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))

import together  # noqa: E402
import workload_run  # noqa: E402
from workload_run import Launch, Workload  # noqa: E402

# Steps a second by batch and cores; a large batch is best on fewer cores than all.
MADE = {None: {1: 4.0, 2: 7.0, 3: 9.0}, 2: {1: 4.0, 2: 8.0, 3: 7.5}}


def calibrated(workload, provider, cores):
    made = MADE[workload.batch][len(cores)]
    return Launch(f"{workload.title} on {len(cores)}", {}, blas=provider), made


class Splits(unittest.TestCase):
    def test_give_all_cores(self):
        self.assertEqual(together.splits(4, 2), [(1, 3), (2, 2), (3, 1)])
        self.assertEqual(together.splits(3, 3), [(1, 1, 1)])

    def test_compare_program_with_its_best_time_alone(self):
        programs = [Workload("lstm"), Workload("lstm", 2)]
        with mock.patch.object(together, "calibrate", calibrated):
            ways, alone, chosen = together.ways_by_hand(programs, "reference", 3)
        self.assertEqual([one.label for one in alone], ["lstm on 3", "lstm:2 on 2"])
        self.assertEqual([way.label for way in ways], ["split 1+2", "split 2+1"])
        self.assertEqual([one.label for one in ways[0].starts], ["lstm on 1", "lstm:2 on 2"])
        self.assertEqual(ways[0].starts[1].prefix, ("taskset", "-c", "1,2"))
        self.assertEqual(chosen["lstm:2 on 2"]["steps_a_second"], 8.0)

    def test_name_programs_with_their_batch(self):
        self.assertEqual(workload_run.program_words("resnet50:2"), ("resnet50", 2))
        self.assertEqual(workload_run.program_words("resnet50"), ("resnet50", None))
        for wrong in ("resnet51", "resnet50:", "resnet50:0", "resnet50:x", "jacobi:2"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=wrong):
                workload_run.program_words(wrong)


if __name__ == "__main__":
    unittest.main()
