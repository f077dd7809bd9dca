#!/usr/bin/python3
"""Runs clang-tidy over files, those that nothing changed for since they were clean left out.

    tidy.py --build build --jobs 4 [--deep] FILE...

What a file's answer depends on is the file, every header that it includes, its compile command, the
checks and the tool: a digest of them all is kept for a clean file, in $XDG_CACHE_HOME/optile/tidy
or ~/.cache/optile/tidy. A fresh clone of the same commit thus finds what an earlier one found.
Exit status 1 when something was found.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from typing import Dict, List, Optional

TOOL = os.environ.get("OPTILE_CLANG_TIDY", "clang-tidy-14")
KEPT_DAYS = 30


def cache_folder() -> pathlib.Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "optile" / "tidy"


def without_output(command: List[str]) -> List[str]:
    """The compile command, without where its object goes and without a cache before it."""
    words = [word for word in command if os.path.basename(word) != "ccache" and word != "-c"]
    if "-o" in words:
        at = words.index("-o")
        del words[at:at + 2]
    return words


class Digests:
    """Of files, each read once."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.known: Dict[str, bytes] = {}

    def of(self, path: str) -> bytes:
        if path not in self.known:
            self.known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).digest()
        return self.known[path]

    def of_answer(self, command: List[str], folder: str, settings: List[bytes]) -> Optional[str]:
        """Of everything that clang-tidy's answer depends on; None where that cannot be told."""
        listed = subprocess.run([*command, "-M", "-MT", "x"], cwd=folder, capture_output=True,
                                text=True, check=False)
        if listed.returncode != 0:
            return None
        files = shlex.split(listed.stdout.replace("\\\n", " "))[1:]
        # The same clone in another folder has the same answers.
        words = [word.replace(self.root, "") for word in command]
        digest = hashlib.sha256("\0".join(words).encode())
        for setting in settings:
            digest.update(setting)
        for path in files:
            digest.update(path.replace(self.root, "").encode() + b"\0")
            digest.update(self.of(os.path.join(folder, path)))
        return digest.hexdigest()


def checks_of(file: str) -> List[bytes]:
    """The settings of the folders above a file, some of which inherit from others."""
    found = (folder / ".clang-tidy" for folder in pathlib.Path(file).resolve().parents)
    return [path.read_bytes() for path in found if path.is_file()]


def compile_commands(build: pathlib.Path) -> Dict[str, dict]:
    entries = json.loads((build / "compile_commands.json").read_text())
    return {os.path.realpath(os.path.join(entry["directory"], entry["file"])): entry
            for entry in entries}


def command_of(entry: dict) -> List[str]:
    return without_output(entry.get("arguments") or shlex.split(entry["command"]))


def tidy_command(build: pathlib.Path, mode: str, file: str) -> List[str]:
    words = [TOOL, "-p", str(build), "--quiet"]
    for word in ("-Xclang", "-analyzer-config", "-Xclang", f"mode={mode}"):
        words.append(f"--extra-arg={word}")
    return [*words, file]


def prune(cache: pathlib.Path) -> None:
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for entry in cache.iterdir():
        if entry.stat().st_mtime < oldest:
            entry.unlink(missing_ok=True)


class Tidy:
    def __init__(self, root: pathlib.Path, build: pathlib.Path, mode: str) -> None:
        self.build, self.mode, self.cache = build, mode, cache_folder()
        self.commands = compile_commands(build)
        self.digests = Digests(str(root))
        version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
        self.settings = [version, mode.encode()]
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            prune(self.cache)
        except OSError as error:
            print(f"tidy.py: nothing is remembered: {error}", file=sys.stderr)

    def look(self, file: str) -> bool:
        entry = self.commands[os.path.realpath(file)]
        digest = self.digests.of_answer(command_of(entry), entry["directory"],
                                        [*self.settings, *checks_of(file)])
        kept = self.cache / digest if digest else None
        if kept and kept.exists():
            kept.touch()
            print(f"  as before  {file}", flush=True)
            return True
        run = subprocess.run(tidy_command(self.build, self.mode, file), capture_output=True,
                             text=True, check=False)
        if run.returncode != 0:
            print(f"{run.stdout}{run.stderr}\n  found      {file}", flush=True)
            return False
        print(f"  clean      {file}", flush=True)
        try:
            if kept:
                kept.touch()
        except OSError:
            pass  # said at the start
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--deep", action="store_true", help="the analyzer follows every call")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    tidy = Tidy(root, options.build, "deep" if options.deep else "shallow")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(tidy.look, options.files))
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
