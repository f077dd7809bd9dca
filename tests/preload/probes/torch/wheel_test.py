#!/usr/bin/python3
"""Which bridge the shim loads into a program that opens PyTorch of a wheel: a fake wheel, and a
fake bridge in the place of one that was built for it. Needs no PyTorch."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SHIM = TORCH = BRIDGE = KEY = ""

OPENS_TORCH = """
import ctypes, re
library = ctypes.CDLL({path!r})
assert library.sum_in_a_team(10) == 45
maps = open("/proc/self/maps").read()
print(sorted(set(re.findall(r"torch-[^/ ]*$", maps, re.M))))
"""


class WheelBridge(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="optile-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.torch = self.folder / "packages" / "torch"
        (self.torch / "lib").mkdir(parents=True)
        shutil.copy(TORCH, self.torch / "lib" / "libtorch_cpu.so")
        self.set_version("9.9.0+fake")
        self.bridges = self.folder / "cache" / "optile" / "bridges"
        self.bridges.mkdir(parents=True, mode=0o700)
        self.bridges.chmod(0o700)
        self.bridge = self.bridges / f"torch-9.9.0+fake-{KEY}.so"

    def set_version(self, version: str) -> None:
        text = f"__all__ = ['__version__']\n__version__ = '{version}'\n"
        (self.torch / "version.py").write_text(text, encoding="utf-8")

    def put_bridge(self, name: str = "") -> None:
        path = self.bridges / name if name else self.bridge
        shutil.copy(BRIDGE, path)
        path.chmod(0o600)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        pathlib.Path(f"{path}.sha256").write_text(f"{digest}  {path.name}\n", encoding="utf-8")
        pathlib.Path(f"{path}.sha256").chmod(0o600)

    def loaded(self, **environment: str) -> str:
        """What of the cache is in a program that opened the wheel."""
        run = subprocess.run(
            ["/usr/bin/python3", "-c",
             OPENS_TORCH.format(path=str(self.torch / "lib" / "libtorch_cpu.so"))],
            env={**os.environ, "LD_PRELOAD": SHIM, "XDG_CACHE_HOME": str(self.folder / "cache"),
                 "OPTILE_SOCKET": str(self.folder / "optiled.sock"), **environment},
            capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout.strip()

    def log(self) -> str:
        return (self.folder / "clients.log").read_text(encoding="utf-8")

    def assert_refused(self, why: str, **environment: str) -> None:
        self.assertEqual(self.loaded(**environment), "[]")
        self.assertIn(why, self.log())

    def test_is_loaded_when_valid(self) -> None:
        self.put_bridge()
        self.assertEqual(self.loaded(), str([self.bridge.name]))

    def test_is_found_in_home_cache_by_default(self) -> None:
        self.put_bridge()
        (self.folder / "cache").rename(self.folder / ".cache")
        self.assertEqual(self.loaded(XDG_CACHE_HOME="", HOME=str(self.folder)),
                         str([self.bridge.name]))

    def test_is_suggested_in_log_when_missing(self) -> None:
        self.assert_refused("it is not there; optile bridge build")

    def test_is_refused_for_other_version_or_release(self) -> None:
        self.put_bridge(f"torch-9.8.0+fake-{KEY}.so")
        self.put_bridge("torch-9.9.0+fake-0000000000000000.so")
        self.assert_refused("it is not there")

    def test_is_refused_when_changed(self) -> None:
        self.put_bridge()
        with self.bridge.open("ab") as file:
            file.write(b"x")
        self.assert_refused("its checksum differs")

    def test_is_refused_without_checksum(self) -> None:
        self.put_bridge()
        pathlib.Path(f"{self.bridge}.sha256").unlink()
        self.assert_refused("its checksum is missing")

    def test_is_refused_when_writable_by_others(self) -> None:
        for path, mode in ((self.bridge, 0o622), (self.bridges, 0o770)):
            with self.subTest(path.name):
                self.bridges.chmod(0o700)
                self.put_bridge()
                path.chmod(mode)
                self.assert_refused("others may write to it")

    def test_is_refused_behind_symlink(self) -> None:
        self.put_bridge()
        self.bridge.rename(self.folder / "elsewhere.so")
        self.bridge.symlink_to(self.folder / "elsewhere.so")
        self.assert_refused("it is no regular file")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_is_refused_with_other_owner(self) -> None:
        self.put_bridge()
        os.chown(self.bridge, 65534, 65534)
        self.assert_refused("it belongs to somebody else")

    def test_is_refused_for_version_with_path(self) -> None:
        self.set_version("../../9")
        self.assert_refused("no bridge for")

    def test_is_not_loaded_when_off(self) -> None:
        self.put_bridge()
        self.assertEqual(self.loaded(OPTILE_TORCH_BRIDGE="off"), "[]")
        log = self.folder / "clients.log"
        self.assertNotIn("bridge", log.read_text(encoding="utf-8") if log.exists() else "")


def read_key(header: str) -> str:
    text = pathlib.Path(header).read_text(encoding="utf-8")
    return re.search(r'OPTILE_BRIDGE_KEY "([0-9a-f]{16})"', text).group(1)


if __name__ == "__main__":
    SHIM, TORCH, BRIDGE = (sys.argv.pop(1) for _ in range(3))
    KEY = read_key(sys.argv.pop(1))
    unittest.main(verbosity=2)
