"""Trainings of tests/programs/python/tensorflow_train.py, under a daemon of the test's own.

Needs a Python with TensorFlow, named by OPTILE_TENSORFLOW_PYTHON; `./dev test` makes one.
"""
import os
import unittest

from support.harness import DEADLINE, SCRIPTS, EndToEndTest, finish, wait_until

PYTHON = os.environ.get("OPTILE_TENSORFLOW_PYTHON", "")
PATIENCE = 4 * DEADLINE
ENDLESS = 1000000  # steps


@unittest.skipUnless(PYTHON, "no TensorFlow: OPTILE_TENSORFLOW_PYTHON is not set; ./dev test makes "
                             "one and runs this")
class TensorflowTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        # What else runs on this machine is not what these tests are about.
        self.daemon = self.space.start_daemon(options=("--external-load", "ignore"))

    def losses_of(self, finished):
        self.assertEqual(0, finished.code, finished)
        losses = [line for line in finished.stdout.splitlines() if line.startswith("losses ")]
        return losses[0].split()[1:]

    def command(self, how, steps, batch):
        return [PYTHON, SCRIPTS / "tensorflow_train.py", "--how", how, "--steps", str(steps),
                "--batch", str(batch)]

    def train(self, *options, how, steps, batch=32):
        path = self.space.dir / f"{how}.json"
        finished = self.space.launched(self.command(how, steps, batch), "--report", path, *options,
                                       deadline=PATIENCE)
        return self.losses_of(finished), self.report(path)

    def start(self, *options, steps):
        return self.space.popen(self.space.launcher(
            *options, command=self.command("branches", steps, 8)))

    def client(self):
        return next(iter(self.space.ask_json("status")["clients"]), None)

    def wait_for_phase(self, *phases):
        wait_until(lambda: (self.client() or {}).get("phase") in phases, f"{phases}", PATIENCE)
        return str(self.client()["id"])

    def end(self, program):
        self.assertIsNone(program.poll(), "it ended by itself")
        program.terminate()
        finish(program, "", PATIENCE)

    def untouched_losses(self, how, steps, batch=32):
        return self.losses_of(self.space.run(self.command(how, steps, batch), deadline=PATIENCE))

    def assert_close(self, untouched, losses, delta=1e-2):
        """Sums in another order give other last bits, in the steps that try widths."""
        for before, after in zip(untouched, losses, strict=True):
            self.assertAlmostEqual(float.fromhex(before), float.fromhex(after), delta=delta)
