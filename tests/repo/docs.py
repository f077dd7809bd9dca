"""The documents say what is true of the tree: links lead somewhere, commands and flags exist.

What a command knows is asked from the command itself (its --help), so nothing here repeats it.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
from dataclasses import dataclass
from typing import Dict, FrozenSet, Iterator, List, Optional, Tuple

import tree
from tree import Problem

COLUMNS = 100

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*$", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_CALL = re.compile(r"(?:^|[\s/(])(?P<tool>optile|\./dev)\s+(?P<command>[a-z][a-z-]*)(?P<rest>.*)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_GLOSSARY_TERM = re.compile(r"^\| \*\*(.+?)\*\* \|", re.MULTILINE)


@dataclass(frozen=True)
class Commands:
    """What one tool answers to: its commands, and for each the flags of its help."""

    flags: Dict[str, FrozenSet[str]]

    def all_flags(self) -> FrozenSet[str]:
        return frozenset().union(*self.flags.values()) if self.flags else frozenset()


def documents(root: pathlib.Path) -> List[str]:
    return [
        name
        for name in tree.files(root)
        if name.endswith(".md") or name.startswith("docs/reference/man/")
    ]


# --- links ----------------------------------------------------------------------------------


def anchors(text: str) -> FrozenSet[str]:
    """Anchors of a document's headings, as the usual viewers make them."""
    found = set()
    for heading in _HEADING.findall(_without_blocks(text)):
        plain = re.sub(r"[`*]", "", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return frozenset(found)


def _without_blocks(text: str) -> str:
    """The text with fenced blocks emptied; every line stays a line."""
    return re.sub(
        r"^```.*?^```$",
        lambda match: "\n" * match.group(0).count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )


def link_problems(root: pathlib.Path, name: str) -> List[Problem]:
    text = tree.read(root, name)
    found = []
    for number, line in enumerate(_without_blocks(text).splitlines(), 1):
        for target in _LINK.findall(line):
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, anchor = target.partition("#")
            there = root / pathlib.PurePosixPath(name).parent / path if path else root / name
            if not there.exists():
                found.append(Problem(name, number, f"the link to {target} leads nowhere"))
            elif anchor and there.suffix == ".md":
                if anchor not in anchors(there.read_text(encoding="utf-8")):
                    found.append(Problem(name, number, f"{path or name} has no heading #{anchor}"))
    return found


# --- commands and flags ---------------------------------------------------------------------


def _help(command: List[str]) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, text=True, timeout=60
    )
    return done.stdout


def dev_commands(root: pathlib.Path) -> Commands:
    """Commands of ./dev with their flags, from its help: two blanks, name, options, text."""
    flags: Dict[str, FrozenSet[str]] = {}
    for line in _help([str(root / "dev"), "help"]).splitlines():
        match = re.match(r"  (?P<name>[a-z][a-z-]*)(?P<rest>.*)", line)
        if match:
            flags[match["name"]] = frozenset(_FLAG.findall(match["rest"]))
    return Commands(flags)


def _names(text: str) -> List[str]:
    """The commands that a help text lists."""
    _, _, commands = text.partition("ommands:")
    return re.findall(r"^  ([a-z][a-z-]*)\s", commands, re.MULTILINE)


def optile_commands(folder: pathlib.Path) -> Commands:
    """Commands of optile with their flags, from its help, each command's own and those of commands
    within it. What has no command, the daemon's flags among it, is under the empty name."""
    binary = str(folder / "optile")
    listed = _help([binary, "--help"])
    flags: Dict[str, FrozenSet[str]] = {}
    for name in _names(listed):
        text = _help([binary, name, "--help"])
        text += "".join(_help([binary, name, inner, "--help"]) for inner in _names(text))
        flags[name] = frozenset(_FLAG.findall(text))
    alone = listed + _help([str(folder / "optiled"), "--help"])
    return Commands({**flags, "": frozenset(_FLAG.findall(alone))})


def man_sections(text: str) -> Dict[str, str]:
    """What stands under each heading of a manual page."""
    parts = re.split(r"(?m)^\.SH (.+)$", text)
    return dict(zip(parts[1::2], parts[2::2]))


def code_pieces(name: str, text: str) -> Iterator[Tuple[int, str]]:
    """Everything that is meant literally: code spans and lines of fenced blocks, with its line.
    Blocks that are fenced as `text` hold what a program printed."""
    if not name.endswith(".md"):
        # A manual page: fonts and escaped hyphens taken out.
        for number, line in enumerate(text.splitlines(), 1):
            if not line.startswith(('.\\"', ".TH")):
                plain = re.sub(r"\\f.|^\.\w+\s*", "", line.replace("\\-", "-"))
                yield number, plain.replace('"', "")
        return
    fenced = printed = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced, printed = not fenced, line == "```text"
        elif printed:
            continue
        elif fenced:
            yield number, line.split("  #")[0]
        else:
            for span in _SPAN.findall(line):
                yield number, span


def _call_problem(match: "re.Match[str]", commands: Commands) -> Optional[str]:
    tool, command = match["tool"], match["command"]
    if command not in commands.flags:
        return f"{tool} has no command {command}"
    # Flags after a lone -- belong to the program that is started.
    ours = re.split(r"\s--(?:\s|$)", match["rest"])[0]
    known = commands.flags[command] | {"--help"}
    wrong = [flag for flag in _FLAG.findall(ours) if flag not in known]
    # ./dev test hands what it does not know to CTest.
    if wrong and not (tool == "./dev" and command == "test"):
        return f"{tool} {command} does not know {', '.join(wrong)}"
    return None


def command_problems(
    name: str, text: str, dev: Commands, optile: Optional[Commands]
) -> List[Problem]:
    """Commands and flags in one document that the tools do not have; None: optile is not built."""
    found = []
    for number, piece in code_pieces(name, text):
        match = _CALL.search(piece)
        if match and name.endswith(".md"):
            commands = dev if match["tool"] == "./dev" else optile
            problem = _call_problem(match, commands) if commands else None
        elif optile and (piece.startswith("--") or not name.endswith(".md")):
            flags = _FLAG.findall(re.split(r"\s--(?:\s|$)", piece)[0])
            known = optile.all_flags() | dev.all_flags() | {"--help"}
            wrong = [flag for flag in flags if flag not in known]
            problem = f"no command knows {', '.join(wrong)}" if wrong else None
        else:
            continue
        if problem:
            found.append(Problem(name, number, problem))
    return found


# --- single documents -----------------------------------------------------------------------


def glossary_terms(text: str) -> List[str]:
    return _GLOSSARY_TERM.findall(text)


def column_problems(name: str, text: str) -> List[Problem]:
    """Prose is wrapped; tables and blocks may be as wide as they need."""
    found = []
    for number, line in enumerate(_without_blocks(text).splitlines(), 1):
        if len(line) > COLUMNS and not line.startswith("|"):
            found.append(Problem(name, number, f"{len(line)} columns, at most {COLUMNS}"))
    return found


# --- faults ---------------------------------------------------------------------------------

_FAULT_TAG = re.compile(r"(?://|#) fault: (F\d+(?:, F\d+)*)\s*$", re.MULTILINE)


def fault_problems(root: pathlib.Path, name: str) -> List[Problem]:
    """Faults of the table that no test is tagged with (`fault: F13` in a comment), and tags with
    what the table does not have."""
    lines = tree.read(root, name).splitlines()
    rows = {line.split(" ")[1]: at for at, line in enumerate(lines, 1) if line.startswith("| F")}
    found, held = [], set()
    for one in tree.with_suffix(tree.files(root), ".cc", ".py", ".txt"):
        if not one.startswith("tests/") or one.startswith("tests/repo/"):
            continue
        text = tree.read(root, one)
        for match in _FAULT_TAG.finditer(text):
            for fault in match[1].split(", "):
                held.add(fault)
                if fault not in rows:
                    number = text.count("\n", 0, match.start()) + 1
                    found.append(Problem(one, number, f"{name} has no fault {fault}"))
    for fault, number in rows.items():
        if fault not in held:
            found.append(Problem(name, number, "no test holds this"))
    return found
