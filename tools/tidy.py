#!/usr/bin/python3
"""Runs clang-tidy over files, those that nothing changed for since they were clean left out.

    tidy.py --build build --jobs 4 [--deep] FILE...

Sources are looked at together, up to TOGETHER of them: half of the work is headers. They need the
same flags but for macros that the others do not mention, for folders of headers and for what only
matters to code. Where something is found in them, those of each compile command are looked at by
themselves, and that answer counts: names of two files may collide. A file that the build does not
compile has no flags: it is left out.

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
from typing import Dict, Iterable, List, Optional, Set, Tuple

TOOL = os.environ.get("OPTILE_CLANG_TIDY", "clang-tidy-14")
KEPT_DAYS = 30
TOGETHER = 48  # more of them take more memory, and leave a core without work at the end
# Of the path-sensitive analyzer, for one function. A quarter of what its shallow mode allows: it
# reaches as many blocks with it, on fewer paths to each, in a third of the time.
SHALLOW_NODES = 20000


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
    parts: List[Unit] = dataclasses.field(default_factory=list)  # of several compile commands


UNITY_FILE = re.compile(r"unity_\d+_c(?:xx)?\.c(?:xx)?")
INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def compiled_sources(file: str) -> List[str]:
    """The sources in a file that CMake made of several of them, or the file itself."""
    if not UNITY_FILE.fullmatch(os.path.basename(file)):
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


CODE_ONLY = re.compile(r"-g\d?|-O[123]|-f(?:PIC|PIE)")
# Libraries by themselves define names that are the system's elsewhere.
DEFINITION = re.compile(r"-D(?!NDEBUG|\w+_EXPORTS)(\w+)")


@dataclasses.dataclass
class Flags:
    """Of a compile command: macros and folders of headers, and all else that clang-tidy needs."""

    macros: Dict[str, str]  # the words that define them
    folders: List[str]
    others: List[str]

    @classmethod
    def of(cls, command: List[str]) -> Flags:
        flags = cls({}, [], [])
        words = iter(command)
        for word in words:
            definition = DEFINITION.match(word)
            if word == "-isystem":
                flags.folders.append(next(words))
            elif definition:
                flags.macros[definition[1]] = word
            elif not CODE_ONLY.fullmatch(word):
                flags.others.append(word)
        if any(re.fullmatch("-O[123]", word) for word in command):
            flags.others.append("-O1")
        return flags

    def suit(self, sources: Iterable[str], other: Flags) -> bool:
        """Whether sources with these flags are the same with the other's macros as well."""
        more = other.macros.items() - self.macros.items()
        return not more or not any(
            re.search(rf"\b{name}\b", text) or name in self.macros
            for text in (pathlib.Path(source).read_text(encoding="utf-8") for source in sources)
            for name, _ in more)

    def add(self, other: Flags) -> None:
        self.macros.update(other.macros)
        self.folders += [folder for folder in other.folders if folder not in self.folders]

    def command(self, source: str) -> List[str]:
        folders = [word for folder in self.folders for word in ("-isystem", folder)]
        return [*self.others, *self.macros.values(), *folders, source]


def checks_above(source: str) -> List[pathlib.Path]:
    """The settings of the folders above a source, some of which inherit from others."""
    found = (folder / ".clang-tidy" for folder in pathlib.Path(source).resolve().parents)
    return [path for path in found if path.is_file()]


NO_NAME = re.compile(r"[\s}/]|namespace\b|using namespace|template\b[^(]*$|TEST|INSTANTIATE|#")
BEHIND_NAME = re.compile(r"[({=;\[]|\s:\s|\sfinal\b")
LAST_NAME = re.compile(r"(?<![\w:])(\w+)\s*$")


def defined_names(source: str) -> Set[str]:
    """What a source may define outside of functions: a name in each line that begins at its first
    column, as clang-format leaves them. Some too many do no harm."""
    found = set()
    for line in pathlib.Path(source).read_text(encoding="utf-8").splitlines():
        if line.startswith("#define "):
            found.update(re.findall(r"\w+", line)[1:2])
        elif line and not NO_NAME.match(line):
            found.update(LAST_NAME.findall(BEHIND_NAME.split(line, maxsplit=1)[0]))
    return found


def functions_with_body(source: str) -> Set[str]:
    """Those outside of classes whose first line is their only one before the body."""
    lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    return {name for line in lines
            if line.endswith(") {") and line[:1].isalpha() and not NO_NAME.match(line)
            for name in LAST_NAME.findall(line.split("(", maxsplit=1)[0])}


class Names:
    """Those that sources have to themselves, those of the headers that they include, and those of
    functions, which two sources may both define for one header."""

    def __init__(self, root: pathlib.Path, sources: Iterable[str] = ()) -> None:
        self.own: Set[str] = set()
        self.shared: Set[str] = set()
        self.functions: Set[str] = set()
        for source in sources:
            self.own |= defined_names(source)
            self.functions |= functions_with_body(source)
            included = INCLUDED.findall(pathlib.Path(source).read_text(encoding="utf-8"))
            for header in (root / name for name in included):
                self.shared |= defined_names(str(header)) if header.is_file() else set()
        self.own -= self.shared

    def collide(self, other: Names) -> bool:
        return bool(self.own & (other.own | other.shared) or self.shared & other.own
                    or self.functions & other.functions)

    def add(self, other: Names) -> None:
        self.own |= other.own
        self.shared |= other.shared
        self.functions |= other.functions


def larger_units(units: List[Unit], root: pathlib.Path) -> List[Unit]:
    """Those of flags that suit each other and the same checks together, as long as they are not
    too many and seem to have no name in common."""
    found: Dict[object, List[Tuple[Unit, Names, Flags]]] = {}
    for unit in units:
        flags = Flags.of(unit.command[:-1])
        key = (unit.folder, *flags.others, pathlib.Path(unit.sources[0]).suffix,
               *checks_above(unit.sources[0]))
        names = Names(root, unit.sources)
        others = found.setdefault(key, [])
        for larger, its_names, its_flags in others:
            if (len(larger.sources) + len(unit.sources) <= TOGETHER
                    and not its_names.collide(names)
                    and flags.suit(unit.sources, its_flags)
                    and its_flags.suit(larger.sources, flags)):
                break
        else:
            larger, its_names, its_flags = Unit(unit.folder, [], []), Names(root), flags
            others.append((larger, its_names, its_flags))
        larger.sources.extend(unit.sources)
        larger.parts.append(unit)
        its_names.add(names)
        its_flags.add(flags)
        larger.command = its_flags.command(larger.sources[0])
    whole = [unit if len(unit.parts) > 1 else unit.parts[0]
             for others in found.values() for unit, *_ in others]
    return sorted(whole, key=lambda unit: -len(unit.sources))  # no long one is the last alone


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
    file = home / f"UnifiedSource-{len(unit.sources)}-{first.name}"
    file.write_text(text)
    unit.command[-1:] = [f"-I{root}", str(file)]


def tidy_command(unit: Unit, analyzer_settings: str) -> List[str]:
    analyzer = ["-Xclang", "-analyzer-config", "-Xclang", analyzer_settings]
    return [TOOL, "--quiet", unit.command[-1], "--", *unit.command[1:-1], *analyzer]


def prune(cache: pathlib.Path) -> None:
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for entry in cache.iterdir():
        if entry.stat().st_mtime < oldest:
            entry.unlink(missing_ok=True)


class Tidy:
    def __init__(self, root: pathlib.Path, analyzer_settings: str) -> None:
        self.root, self.cache = root, cache_folder()
        self.analyzer_settings = analyzer_settings
        self.digests = Digests(str(root))
        version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
        self.settings = [version, analyzer_settings.encode()]
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
        run = subprocess.run(tidy_command(unit, self.analyzer_settings), cwd=unit.folder,
                             capture_output=True, text=True, check=False)
        if run.returncode != 0 and unit.parts:
            print(f"  apart      {names}", flush=True)
            if not all([self.look(part) for part in unit.parts]):
                return False
        elif run.returncode != 0:
            print(f"{run.stdout}{run.stderr}\n  found      {names}", flush=True)
            return False
        else:
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
    tidy = Tidy(root, "mode=deep" if options.deep else f"mode=shallow,max-nodes={SHALLOW_NODES}")
    units = larger_units(units_of(options.build, options.files), root)
    for unit in [*units, *(part for unit in units for part in unit.parts)]:
        if len(unit.sources) > 1:
            put_together(unit, root, (options.build / "tidy").resolve())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(tidy.look, units))
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
