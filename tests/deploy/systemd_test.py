#!/usr/bin/python3
"""systemd's own tool finds nothing wrong with the units, and little that they could give up."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
OPTILED = pathlib.Path(os.environ["OPTILE_BINARY_DIR"]) / "bin" / "optiled"
UNITS = ROOT / "deploy" / "systemd"
# Tenths: what a service that everybody can reach may score at most. It may set other users' masks
# and has to see their processes, which is most of what is left.
MOST_EXPOSED = "15"


def analyze(*words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "SYSTEMD_PAGER": "", "XDG_RUNTIME_DIR": tempfile.gettempdir()}
    return subprocess.run(["systemd-analyze", *words], text=True, timeout=100, check=False,
                          env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@unittest.skipIf(shutil.which("systemd-analyze") is None, "systemd-analyze is not installed")
class SystemdUnits(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="optile-units-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def unit(self, name: str, change: "tuple[str, str]" = ("", "")) -> str:
        """A copy that names the daemon of this build; the tool looks whether it is there."""
        text = (UNITS / name).read_text(encoding="utf-8")
        self.assertIn("=/usr/bin/optiled ", text)
        text = text.replace("=/usr/bin/optiled ", f"={OPTILED} ").replace(*change)
        copy = self.folder / pathlib.Path(name).name
        copy.write_text(text, encoding="utf-8")
        return str(copy)

    def test_pass_systemd_analyze(self) -> None:
        for name, scope in (("optiled.service", "--system"), ("user/optiled.service", "--user")):
            done = analyze("verify", "--man=no", scope, self.unit(name))
            said = [line for line in done.stdout.splitlines() if "optiled.service" in line]
            self.assertEqual([], said, name)

    def test_fail_systemd_analyze_with_mistake(self) -> None:
        wrong = self.unit("optiled.service", ("Type=notify", "Type=notify\nProtectSytem=yes"))
        done = analyze("verify", "--man=no", "--system", wrong)
        self.assertIn("ProtectSytem", done.stdout)

    def test_limit_exposure_of_system_daemon(self) -> None:
        done = analyze("security", "--offline=yes", f"--threshold={MOST_EXPOSED}",
                       self.unit("optiled.service"))
        self.assertEqual(0, done.returncode, done.stdout)

    def test_allow_needed_system_calls(self) -> None:
        """Those that somebody might think it could do without."""
        text = (UNITS / "optiled.service").read_text(encoding="utf-8")
        self.assertIn("SystemCallFilter=@system-service\n", text)
        taken = [line.partition("~")[2].split() for line in text.splitlines()
                 if line.startswith("SystemCallFilter=~")]
        self.assertTrue(taken)
        forbidden = self.calls(*(name for names in taken for name in names))
        needed = {"sched_setaffinity", "sched_setattr", "futex_waitv", "pidfd_open",
                  "memfd_create", "close_range", "prlimit64", "fchmod", "chmod", "flock"}
        self.assertLessEqual(needed, self.calls("@system-service"))
        self.assertFalse(needed & forbidden)

    def calls(self, *groups: str) -> "set[str]":
        """All system calls of these groups, also through the groups in them."""
        found: "set[str]" = set()
        for group in groups:
            done = analyze("syscall-filter", group)
            self.assertEqual(0, done.returncode, done.stdout)
            names = [line.strip() for line in done.stdout.splitlines()
                     if line.startswith("    ") and not line.strip().startswith("#")]
            found |= {name for name in names if not name.startswith("@")}
            found |= self.calls(*(name for name in names if name.startswith("@")))
        return found


class Installation(unittest.TestCase):
    def test_places_every_file(self) -> None:
        with tempfile.TemporaryDirectory(prefix="optile-install-") as prefix:
            done = subprocess.run(["cmake", "--install", str(OPTILED.parent.parent), "--prefix",
                                   prefix], text=True, timeout=100, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(0, done.returncode, done.stdout)
            for name in ("bin/optile", "bin/optiled", "lib/optile/liboptile_preload.so",
                         "lib/systemd/system/optiled.service",
                         "lib/systemd/user/optiled.service", "lib/sysusers.d/optile.conf",
                         "share/man/man8/optiled.8"):
                self.assertTrue((pathlib.Path(prefix) / name).is_file(), name)
            run = subprocess.run([f"{prefix}/bin/optile", "doctor"], text=True, timeout=100,
                                 check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertIn("shim and daemon are there", run.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
