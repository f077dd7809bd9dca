"""The system daemon's unit as an installation leaves it, under a systemd that really runs: in
namespaces of its own, over a copy of this system. Needs root."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import harness
from support import system_space
from support.harness import wait_until

BOOT = pathlib.Path(__file__).parents[1] / "support" / "boot_systemd.sh"
ANNA, BERT = system_space.ANNA, system_space.BERT


def unified_groups():
    """Where version 2 of control groups is mounted."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(place)
    raise unittest.SkipTest("no control groups of version 2 are mounted: systemd needs them")


@system_space.needs_root
@unittest.skipIf(not os.access("/lib/systemd/systemd", os.X_OK), "systemd is not installed")
class SystemdUnit(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="optile-systemd-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.boot()

    # ---- the machine
    def boot(self):
        group = unified_groups() / f"optile-test-{os.getpid()}"
        words = system_space.unshare("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts",
                                     "--cgroup")
        try:
            group.mkdir()
            (group / "systemd").mkdir()
        except OSError as error:
            raise unittest.SkipTest(f"no control group can be made here: {error}") from error
        self.addCleanup(self.remove, group)
        enter = f'echo $$ > "{group}/systemd/cgroup.procs" && exec "$@"'
        command = ["sh", "-c", enter, "sh", *words, str(BOOT), str(self.folder),
                   str(harness.BUILD), str(harness.PROGRAMS)]
        with (self.folder / "log").open("wb") as log:
            self.log = os.open(log.name, os.O_RDONLY)
            self.addCleanup(os.close, self.log)
            machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(self.end, machine)
        self.first = wait_until(lambda: self.first_process(machine), "systemd to start")
        wait_until(lambda: self.state() == "active", "optiled to be active")

    def first_process(self, machine):
        if machine.poll() is not None:
            raise unittest.SkipTest(f"systemd does not run here: {self.said()}")
        for pid in system_space.descendants(machine.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe").endswith("/systemd"):
                    return pid
            except OSError:
                continue
        return None

    def end(self, machine):
        machine.kill()  # and with it, as the namespace's first process, all of them
        machine.wait()

    def remove(self, group):
        def gone():
            try:
                for folder, _, _ in os.walk(group, topdown=False):
                    os.rmdir(folder)
                return True
            except OSError:
                return False

        wait_until(gone, "the control groups to be empty")

    def said(self):
        return os.pread(self.log, 100000, 0).decode(errors="replace")

    # ---- inside it
    def inside(self, *words, uid=0):
        command = ["nsenter", "-t", str(self.first), "-m", "-p", "-i", "-u", "-C", "-r", "-w"]
        if uid:
            command += ["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={self.users()}"]
        return [*command, "env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/tmp", *words]

    def ask(self, *words, uid=0):
        return subprocess.run(self.inside(*words, uid=uid), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    def users(self):
        """The group that may use the daemon."""
        return self.ask("getent", "group", "optile").stdout.split(":")[2]

    def state(self):
        return self.ask("systemctl", "is-active", "optiled").stdout.strip()

    def main_pid(self):
        shown = self.ask("systemctl", "show", "--property=MainPID", "--value", "optiled")
        return int(shown.stdout)

    def start(self, uid):
        program = subprocess.Popen(
            self.inside("OMP_NUM_THREADS=2", "optile", "run", "--", "optile-test-program", uid=uid),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(system_space._end, program)
        harness.read_until(program, "ran")
        return program

    def leases(self):
        answer = self.ask("optile", "leases", "--json")
        return json.loads(answer.stdout)["clients"] if answer.returncode == 0 else []

    def masks(self, pid):
        script = f"cat /proc/{pid}/task/*/status"
        lines = self.ask("sh", "-c", script).stdout.splitlines()
        return [line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:")]

    def both_held(self, programs):
        """Every thread of both is on the cores of its lease alone."""
        for program in programs:
            program.stdin.write("x")  # a few regions: who opens none looks for no daemon
            program.stdin.flush()
        leases = self.leases()
        if len(leases) != 2:
            return False
        masks = [self.masks(one["pid"]) for one in leases]
        return all(len(set(one)) == 1 for one in masks) and masks[0][0] != masks[1][0]

    # ---- the tests
    def test_confines_programs_that_outlive_daemon(self):
        programs = [self.start(ANNA), self.start(BERT)]
        held = lambda: self.both_held(programs)
        wait_until(held, "both programs to be held to their leases")
        before = self.main_pid()

        self.assertEqual(0, self.ask("systemctl", "restart", "optiled").returncode, self.said())
        self.assertNotEqual(before, self.main_pid())
        wait_until(held, "both to come back after a restart")

        self.ask("kill", "-9", str(self.main_pid()))
        wait_until(lambda: self.state() == "active" and held(), "both to come back after a crash")

        self.assertEqual(0, self.ask("systemctl", "stop", "optiled").returncode)
        self.assertEqual("inactive", self.state())
        for program in programs:
            output, errors = program.communicate("", timeout=60)
            self.assertEqual(0, program.returncode, (output, errors))
        self.assertNotIn("permitted", self.said())

if __name__ == "__main__":
    unittest.main()
