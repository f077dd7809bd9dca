"""Disks that are full, may not be written or stop taking bytes: the program runs, the daemon serves
from memory and says so, and what it learned is on disk once that is possible again."""
import contextlib
import os
import resource
import sqlite3
import subprocess
import unittest

from support.harness import (PYTHON, QUICK_BLAS, SCRIPTS, EndToEndTest, blas, finish, read_until,
                             wait_until)

TRAINER = [PYTHON, SCRIPTS / "train_small.py"]
SHORT = ("--steps", "240", "--pause-at", "20")
TUNED = ("--steps", "800", "--pause-at", "20")  # also on a busy machine


class StoreFault(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.env = blas(QUICK_BLAS)
        self.folder = self.space.dir / "disk"
        self.folder.mkdir()

    def store_state(self):
        return self.daemon.status()["store"]

    def train(self, arguments, attached=lambda: None):
        """One whole run, with what the report says of it; `attached` is done in its middle."""
        path = self.space.dir / "report.json"
        program = self.space.popen(
            self.space.launcher("--report", path, command=[*TRAINER, *arguments]), self.env)
        read_until(program, "paused")
        attached()
        finished = finish(program, "\n")
        self.assertEqual(0, finished.code, finished)
        report = self.report(path)
        self.assertIn("not on disk", " ".join(report["fallbacks"]))
        return report

    def assert_told(self, state):
        store = self.store_state()
        self.assertEqual(state, store["state"], store)
        self.assertGreater(store["failed_writes"], 0)
        self.assertIn("tried again", store["message"])

    def assert_caught_up(self, store):
        """By itself, without another run."""
        wait_until(lambda: self.store_state()["state"] == "on_disk", "the store to be on disk")
        self.assertEqual("", self.store_state()["message"])
        wait_until(lambda: self.kept_runs(store()) > 0, "the run to be in the file")

    @staticmethod
    def kept_runs(store):
        """0 also where a copy was taken in the middle of a write."""
        with contextlib.closing(sqlite3.connect(store)) as database:
            with contextlib.suppress(sqlite3.DatabaseError):
                (runs,), = database.execute("SELECT count(*) FROM runs")
                return runs
        return 0


class WriteFailure(StoreFault):
    """The file is open, and no write to it succeeds any more."""

    def test_is_retried_until_store_recovers(self):  # fault: F12
        self.daemon = self.space.start_daemon()
        pid = self.daemon.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        # Not sooner: the limit would be on the memory files of a client too.
        self.train(SHORT, lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1])))
        self.assert_told("failing")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        self.assert_caught_up(lambda: self.space.store)


class FaultyDisk(StoreFault):
    """The daemon has a small disk to itself, in a mount namespace of its own."""

    def start(self, options):
        as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        inside = ["unshare", "--mount", *as_root, "sh", "-c",
                  'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"', "sh", options,
                  str(self.folder)]
        tried = subprocess.run([*inside, "true"], check=False, capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest(f"no file system can be mounted here: {tried.stderr.strip()}")
        self.daemon = self.space.start_daemon(store=self.folder / "store.db",
                                              wrap=lambda command: [*inside, *command])

    def inside(self, name):
        """A file of the daemon's disk as seen from here."""
        return f"/proc/{self.daemon.process.pid}/root{self.folder}/{name}"

    def mount_again(self, options):
        as_user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        subprocess.run(["nsenter", "--target", str(self.daemon.process.pid), *as_user, "--mount",
                        "mount", "-o", f"remount,{options}", str(self.folder)], check=True)

    def fill(self):
        with open(self.inside("filler"), "wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(512))

    def copy_of_store(self):
        """SQLite locks would not reach across the namespaces."""
        for ending in ("", "-wal"):
            with open(self.inside(f"store.db{ending}"), "rb") as file:
                (self.space.dir / f"copy.db{ending}").write_bytes(file.read())
        return self.space.dir / "copy.db"

    def test_keeps_results_in_memory_when_full(self):  # fault: F8
        """F8, while running: the second run is served from memory."""
        self.start("size=1m")
        self.fill()
        self.assertFalse(self.train(TUNED)["plan_replayed"])
        self.assertTrue(self.train(TUNED)["plan_replayed"])
        self.assert_told("failing")
        os.unlink(self.inside("filler"))
        self.assert_caught_up(self.copy_of_store)

    def test_keeps_results_in_memory_when_full_at_start(self):  # fault: F8
        """Not even the empty store fits."""
        self.assert_catches_up(from_start="size=8k", mounted_again="size=1m")

    def test_keeps_results_in_memory_when_read_only(self):  # fault: F9
        self.assert_catches_up(from_start="size=1m,ro", mounted_again="size=1m,rw")

    def assert_catches_up(self, from_start, mounted_again):
        self.start(from_start)
        self.train(SHORT)
        self.assert_told("in_memory")
        self.mount_again(mounted_again)
        self.assert_caught_up(self.copy_of_store)


if __name__ == "__main__":
    unittest.main()
