#!/usr/bin/python3
"""Runs clang-tidy over files, those that nothing changed for since they were clean left out.

    tidy.py --build build --jobs 4 [--deep] FILE...

Sources that the build compiles together are looked at together, since most of the work is headers
there too. A file that the build does not compile has no flags: it is left out.

What an answer depends on is the sources, every header that they include, their compile command, the
checks and the tool: a digest of them all is kept where nothing was found, in
$XDG_CACHE_HOME/optile/tidy or ~/.cache/optile/tidy. A fresh clone of the same commit thus finds
what an earlier one found. Exit status 1 when something was found.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
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


@dataclasses.dataclass
class Unit:
    """What clang-tidy is asked about at once: sources that one compile command is for."""

    folder: str
    command: List[str]  # without where its object goes; the last word is the file
    sources: List[str]


TOGETHER = re.compile(r"unity_\d+_c(?:xx)?\.c(?:xx)?")
INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def compiled_sources(file: str) -> List[str]:
    """The sources in a file that CMake made of several of them, or the file itself."""
    if not TOGETHER.fullmatch(os.path.basename(file)):
        return [file]
    return [os.path.realpath(name) for name in INCLUDED.findall(pathlib.Path(file).read_text())]


def units_of(build: pathlib.Path, wanted: List[str]) -> List[Unit]:
    """The files that are wanted, each once, as the build compiles them."""
    left = {os.path.realpath(file) for file in wanted}
    units = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        sources = [source for source in compiled_sources(file) if source in left]
        if sources:
            left.difference_update(sources)
            command = without_output(entry.get("arguments") or shlex.split(entry["command"]))
            command[command.index(entry["file"]):] = sources[:1]
            units.append(Unit(entry["directory"], command, sources))
    return units


def checks_above(source: str) -> List[pathlib.Path]:
    """The settings of the folders above a source, some of which inherit from others."""
    found = (folder / ".clang-tidy" for folder in pathlib.Path(source).resolve().parents)
    return [path for path in found if path.is_file()]


def put_together(unit: Unit, root: pathlib.Path, below: pathlib.Path) -> None:
    """Gives a unit of several sources a file that includes them, in a folder with their checks.

    clang's analyzer follows what lies in other files than the one it was given only where that
    one's name begins with UnifiedSource.
    """
    first = pathlib.Path(unit.sources[0]).relative_to(root)
    home = below / first.parent
    home.mkdir(parents=True, exist_ok=True)
    for path in checks_above(unit.sources[0]):
        if path.is_relative_to(root):
            (below / path.relative_to(root)).write_bytes(path.read_bytes())
    # By the names that the compiler finds below the root: the digest does not know the root.
    text = "".join(f'#include "{os.path.relpath(source, root)}"'
                   "  // NOLINT(bugprone-suspicious-include)\n" for source in unit.sources)
    file = home / f"UnifiedSource-{first.name}"
    file.write_text(text)
    unit.command[-1:] = [f"-I{root}", str(file)]


def tidy_command(unit: Unit, mode: str) -> List[str]:
    analyzer = ["-Xclang", "-analyzer-config", "-Xclang", f"mode={mode}"]
    return [TOOL, "--quiet", unit.command[-1], "--", *unit.command[1:-1], *analyzer]


def prune(cache: pathlib.Path) -> None:
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for entry in cache.iterdir():
        if entry.stat().st_mtime < oldest:
            entry.unlink(missing_ok=True)


class Tidy:
    def __init__(self, root: pathlib.Path, mode: str) -> None:
        self.root, self.mode, self.cache = root, mode, cache_folder()
        self.digests = Digests(str(root))
        version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
        self.settings = [version, mode.encode()]
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            prune(self.cache)
        except OSError as error:
            print(f"tidy.py: nothing is remembered: {error}", file=sys.stderr)

    def look(self, unit: Unit) -> bool:
        checks = [path.read_bytes() for path in checks_above(unit.sources[0])]
        digest = self.digests.of_answer(unit.command, unit.folder, [*self.settings, *checks])
        kept = self.cache / digest if digest else None
        names = ", ".join(os.path.relpath(source, self.root) for source in unit.sources)
        if kept and kept.exists():
            kept.touch()
            print(f"  as before  {names}", flush=True)
            return True
        run = subprocess.run(tidy_command(unit, self.mode), cwd=unit.folder, capture_output=True,
                             text=True, check=False)
        if run.returncode != 0:
            print(f"{run.stdout}{run.stderr}\n  found      {names}", flush=True)
            return False
        print(f"  clean      {names}", flush=True)
        try:
            if kept:
                kept.touch()
        except OSError:
            pass  # said at the start
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--root", type=pathlib.Path, help="of the sources; default: this tree's",
                        default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--deep", action="store_true", help="the analyzer follows every call")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    root = options.root.resolve()
    tidy = Tidy(root, "deep" if options.deep else "shallow")
    units = units_of(options.build, options.files)
    for unit in units:
        if len(unit.sources) > 1:
            put_together(unit, root, (options.build / "tidy").resolve())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(tidy.look, units))
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
