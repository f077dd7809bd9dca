"""A system daemon of a test, and programs of several users under it. Everything lies where other
users can reach it: what they run is copied there, since a build folder may be closed to them."""
import os
import pathlib
import shutil
import socket
import subprocess
import unittest

from support import harness

# Numbers that belong to nobody on any machine that we know.
ANNA, BERT, STRANGER, DAEMON = 64101, 64102, 64103, 64105
USERS = 64100  # the group that may use the system daemon
ADMINS = 64104

needs_root = unittest.skipIf(os.geteuid() != 0, "programs of several users need root to start them")


class SystemTest(harness.EndToEndTest):
    """`self.space` with a folder for sockets that everybody can reach."""

    def setUp(self):
        super().setUp()
        self.space.dir.chmod(0o755)
        self.run_dir = self.space.dir / "run"
        self.run_dir.mkdir(mode=0o755)
        self.run_dir.chmod(0o755)
        self.socket = self.run_dir / "optiled.sock"
        self.bin, lib = self.space.dir / "bin", self.space.dir / "lib"
        for folder in (self.bin, lib):
            folder.mkdir()
            folder.chmod(0o755)
        for program in (harness.OPTILE, harness.OPTILE_TOOL, harness.PROGRAMS / "rank"):
            shutil.copy(program, self.bin)
        shutil.copy(harness.OPTILED, self.bin)
        shutil.copy(harness.PRELOAD, lib)
        self.rank = self.bin / "rank"
        self.optile = self.bin / "optile"

    # ---- the daemon
    def start_system_daemon(self, *options, wrap=lambda command: command):
        """Serves `self.socket`; ended with the workspace."""
        command = wrap([str(self.bin / "optiled"), "--system", "--socket", str(self.socket),
                        "--store", str(self.space.dir / "stores"), *map(str, options)])
        with (self.space.dir / "optiled.err").open("ab") as log:
            process = subprocess.Popen(command, env=self.space.environment(),
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(_end, process)
        attach = f"{self.socket}{harness.ATTACH_SUFFIX}"

        def ready():
            self.assertIsNone(process.poll(), self.space.daemon_log())
            return (harness.connectable(self.socket, socket.SOCK_STREAM)
                    and harness.connectable(attach, socket.SOCK_SEQPACKET))

        harness.wait_until(ready, "the system daemon to accept connections")
        return process

    def log(self):
        return (self.run_dir / "optiled.log").read_text(errors="replace")

    # ---- users
    def home(self, uid):
        home = self.space.dir / f"home-{uid}"
        if not home.exists():
            home.mkdir(mode=0o700)
            os.chown(home, uid, uid)
        return home

    def environment(self, uid, extra=None):
        home = self.home(uid)
        env = self.space.environment({"OPTILE_SYSTEM_SOCKET": str(self.socket), **(extra or {})})
        for name in ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
            env[name] = str(home)
        return env

    def start_as(self, uid, command, groups=(USERS,), env=None):
        process = subprocess.Popen(list(map(str, command)), env=self.environment(uid, env),
                                   cwd="/", user=uid, group=uid, extra_groups=list(groups),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(_end, process)
        return process

    def run_as(self, uid, *command, groups=(USERS,), env=None):
        return harness.finish(self.start_as(uid, command, groups, env))

    def ask_as(self, uid, *words, groups=(USERS,)):
        return self.run_as(uid, self.optile, *words, groups=groups)

    def start_rank(self, uid, *options, groups=(USERS,), env=None, wrap=lambda command: command):
        """A program that is attached and waits for its input to end."""
        command = wrap([str(self.optile), "run", *options, "--", str(self.rank)])
        process = self.start_as(uid, command, groups, {"OMP_NUM_THREADS": "2", **(env or {})})
        harness.read_until(process, "ran")
        return process

    # ---- what the daemon says
    def leases(self):
        code, body = harness.get(self.socket, "/v1/leases")
        self.assertEqual(200, code, body)
        return body

    def lease_of(self, process):
        return next((one for one in self.leases()["clients"] if one["pid"] == process.pid), None)

    def wait_for_lease(self, process):
        return harness.wait_until(lambda: self.lease_of(process),
                                  f"a lease of {process.pid}: {self.space.daemon_log()}")


def _end(process):
    if process.poll() is None:
        process.kill()
    process.communicate()


def unshare(*options):
    """The words that start something in namespaces of its own; skips the test where the kernel or
    the container forbids it."""
    words = ["unshare", *options]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise unittest.SkipTest(f"{' '.join(words)} is not permitted here: {tried.stderr.strip()}")
    return words


def descendants(pid):
    """Pids of the children, theirs, and so on."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found
