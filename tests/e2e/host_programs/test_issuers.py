"""Programs whose threads issue ops at the same time: the same output, and cores are shared."""
import unittest

from support import harness
from support.harness import PYTHON, SCRIPTS, QUICK_BLAS, EndToEndTest, blas

ISSUERS = [PYTHON, SCRIPTS / "torch_issuers.py"]


class IssuingThreads(EndToEndTest):
    def setUp(self):
        super().setUp()
        # No more than there are cores: two threads on one of them keep turns from ending.
        threads = min(4, harness.usable_cpus())
        self.env = {**blas(QUICK_BLAS), "OMP_NUM_THREADS": str(threads)}
        self.space.start_daemon()

    def sharing(self, *arguments, options=()):
        """Runs untouched and under the launcher: how its threads shared."""
        command = [*ISSUERS, *arguments]
        untouched = self.space.untouched(command, self.env)
        self.assertEqual(0, untouched.code, untouched)
        path = self.space.dir / "report.json"
        finished = self.space.launched(command, "--report", path, *options, env=self.env)
        self.assert_same_run(untouched, finished)
        report = self.report(path)
        self.assertEqual(0, report["events_dropped"], report)
        return report["sharing"]

    def test_share_cores_and_keep_output(self):
        for threads in (2, 4):
            sharing = self.sharing("--threads", str(threads), options=("--openmp", "keep"))
            self.assertEqual(threads, sharing["issuing_threads"], sharing)
            self.assertEqual(harness.usable_cpus(), sharing["shared_cores"], sharing)
            self.assertGreater(sharing["most_in_ops"], 1, sharing)
            self.assertGreater(sharing["narrowed_ops"], 0, sharing)

    def test_keep_full_width_when_taking_turns(self):
        sharing = self.sharing("--threads", "2", "--turns")
        self.assertEqual(1, sharing["most_in_ops"], sharing)
        self.assertEqual(0, sharing["narrowed_ops"], sharing)

    def test_share_only_in_tune_mode(self):
        for mode in ("observe", "advise", "freeze"):
            sharing = self.sharing("--threads", "2", options=("--mode", mode))
            self.assertIsNone(sharing["shared_cores"], sharing)
            self.assertEqual(0, sharing["narrowed_ops"], sharing)

    def test_are_counted_in_client_details(self):
        self.sharing("--threads", "2")
        latest = harness.get(self.space.socket, "/v1/clients")[1]["clients"][-1]
        details = harness.get(self.space.socket, f"/v1/clients/{latest['id']}")[1]
        self.assertEqual(2, details["sharing"]["issuing_threads"], details)


if __name__ == "__main__":
    unittest.main()
