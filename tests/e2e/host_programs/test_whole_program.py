"""Programs with pools of their own, none of whose threads is set by op: the daemon knows them as
whole programs, and they run as they do untouched."""
import os
import unittest

from support.harness import (PROGRAMS, PYTHON, QUICK_BLAS, SCRIPTS, EndToEndTest, blas, finish,
                             read_until, usable_cpus, wait_until)

POOL = [PROGRAMS / "own_pool"]
WHOLE_SUM = "sum 549755289600"


@unittest.skipIf(usable_cpus() < 2, "one core: there is nothing to divide")
class WholePrograms(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.space.start_daemon()

    def start(self, *options, command=POOL):
        process = self.space.popen(self.space.launcher(*options, command=command))
        read_until(process, f"threads {usable_cpus()}")
        return process

    def client_of(self, process):
        clients = self.space.get("/v1/status")["clients"]
        return next((one for one in clients if one["pid"] == process.pid), None)

    def lease_of(self, process):
        leases = self.space.get("/v1/leases")["clients"]
        return next((one for one in leases if one["pid"] == process.pid), None)

    def sums(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        return read_until(process, WHOLE_SUM)

    def test_attached_unconfined_alone(self):
        process = self.start()
        wait_until(lambda: self.client_of(process), "it to be attached")
        self.assertTrue(self.client_of(process)["whole_program"])
        self.assertIn("whole program", self.space.ask("status").stdout)
        unleased = self.space.get("/v1/leases")["unleased"]
        self.assertEqual([process.pid], [one["pid"] for one in unleased])
        self.assertIn("whole program", unleased[0]["reason"])
        whole = os.sched_getaffinity(0)
        for tid in os.listdir(f"/proc/{process.pid}/task"):
            self.assertEqual(whole, os.sched_getaffinity(int(tid)))
        self.sums(process)
        ended = finish(process)
        self.assertEqual((0, "end\n"), (ended.code, ended.stdout), ended)

    def test_pool_fits_mask_beside_lease(self):
        other = self.space.popen(self.space.launcher(
            command=[PYTHON, SCRIPTS / "train_small.py", "--steps", "100000000"]), blas(QUICK_BLAS))
        wait_until(lambda: self.lease_of(other), "a lease")
        process = self.space.popen(self.space.launcher(command=POOL))
        threads = int(process.stdout.readline().split()[1])
        lease = self.lease_of(process)
        self.assertEqual(threads, len(lease["units"]))
        self.assertLess(threads, usable_cpus())
        for tid in os.listdir(f"/proc/{process.pid}/task"):
            self.assertEqual(set(lease["units"]), os.sched_getaffinity(int(tid)))
        self.assertFalse(set(lease["units"]) & set(self.lease_of(other)["units"]))
        self.sums(process)
        self.assertEqual(0, finish(process).code)
        wait_until(lambda: len(self.lease_of(other)["units"]) == usable_cpus(), "all cores back")

    def test_summary_names_whole_program(self):
        ended = self.space.launched(POOL, "--summary")
        self.assertEqual(0, ended.code, ended)
        self.assertIn("attached as a whole program", ended.stderr)
        self.assertIn("not steered by op", ended.stderr)

    def test_not_attached_without_threads(self):
        for command in (["/bin/true"], ["/bin/sh", "-c", "true; true"],
                        ["/usr/bin/python3", "-c", "import os; os.sched_getaffinity(0)"]):
            ended = self.space.launched(command, "--summary")
            self.assertEqual(0, ended.code, ended)
            self.assertIn("no op of the program was seen", ended.stderr)

    def test_unharmed_by_death_of_daemon(self):  # fault: F1
        process = self.start()
        wait_until(lambda: self.client_of(process), "it to be attached")
        self.daemon.kill()
        self.sums(process)
        ended = finish(process)
        self.assertEqual((0, "end\n"), (ended.code, ended.stdout), ended)
