#!/usr/bin/python3
"""The dashboard is what its script makes, and the script holds what Grafana's types ask for."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import unittest
from typing import Sequence

ROOT = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
HERE = pathlib.Path(os.environ["OPTILE_BINARY_DIR"]) / "tests" / "grafana"
SCRIPT = ROOT / "deploy/grafana/dashboard.py"
REQUIREMENTS = ROOT / "deploy/grafana/requirements.txt"


def run(command: Sequence[object]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(list(map(str, command)), cwd=HERE, text=True, timeout=300, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def builders() -> pathlib.Path:
    """A virtual environment with Grafana's builders, made once for each list of requirements."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    folder = HERE / f"venv-{digest}"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    made = run(["/usr/bin/python3", "-m", "venv", folder])
    if made.returncode == 0:
        made = run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check",
                    "--no-deps", "--only-binary", ":all:", "--require-hashes",
                    "-r", REQUIREMENTS])
    if made.returncode != 0:
        raise AssertionError(
            f"Grafana's builders ({REQUIREMENTS.name}) cannot be installed: is there a network, "
            f"and a package index that pip knows?\n{made.stdout}{made.stderr}")
    (folder / "complete").touch()
    return folder


class Dashboard(unittest.TestCase):
    python = pathlib.Path()

    @classmethod
    def setUpClass(cls) -> None:
        cls.python = builders() / "bin/python"

    def types(self, script: pathlib.Path) -> "subprocess.CompletedProcess[str]":
        return run(["/usr/bin/mypy", "--strict", "--python-executable", self.python,
                    "--cache-dir", HERE / "mypy", script])

    def test_matches_generator(self) -> None:
        made = run([self.python, SCRIPT])
        self.assertEqual(made.returncode, 0, made.stderr)
        committed = (SCRIPT.parent / "dashboard.json").read_text(encoding="utf-8")
        self.assertEqual(committed, made.stdout, "make it again, as dashboard.py says")

    def test_has_valid_field_types(self) -> None:
        done = self.types(SCRIPT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_fails_validation_with_wrong_type(self) -> None:
        right = SCRIPT.read_text(encoding="utf-8")
        wrong = right.replace(".height(8)", '.height("8")')
        self.assertNotEqual(wrong, right)
        script = HERE / "wrong.py"
        script.write_text(wrong, encoding="utf-8")
        done = self.types(script)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn('"height"', done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
