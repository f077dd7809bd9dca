"""Texts that do not belong in the repository: work marks, this machine's paths, package hosts.

The patterns are put together from pieces, so that this file does not hold what it looks for.
"""

from __future__ import annotations

import pathlib
import re
from typing import List, Tuple

import tree
from tree import Problem

_MARKS = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")

# Hosts of package registries and image registries: a package is named by its name alone.
_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("py" + "pi", "org"),
        ("python" + "hosted", "org"),
        ("npm" + "js", "org"),
        ("npm" + "js", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("snapshot", "debian", "org"),
        ("crates", "io"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
        ("gcr", "io"),
        ("pkg", "dev"),
        ("ana" + "conda", "org"),
        ("node" + "source", "com"),
        ("proxy", "golang", "org"),
    )
)

# Folders of a particular machine; a path in the repository is relative or a system's own.
_FOLDERS = ("work", "root", "home", "Users", "builds")

FORBIDDEN: Tuple[Tuple[str, "re.Pattern[str]"], ...] = (
    ("a work mark; finish it or leave it out", re.compile(r"\b(" + "|".join(_MARKS) + r")\b")),
    (
        "a package registry's host; name the package instead",
        re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, _HOSTS)) + r")\b", re.IGNORECASE),
    ),
    (
        "a path of one machine",
        re.compile(r"(?<![\w.$})*/-])/(" + "|".join(_FOLDERS) + r")/(?=\w)"),
    ),
    ("a path outside the repository", re.compile(r"\.\./" + "shared" + r"\b")),
)

TEXT_SUFFIXES = tree.CXX_SUFFIXES + (
    ".py", ".md", ".txt", ".cmake", ".json", ".yaml", ".yml", ".toml", ".sh", ".map", ".in", ".1",
    ".8", ".service", ".socket", ".clang-format", ".clang-tidy", ".gitignore",
)  # fmt: skip


def is_text(root: pathlib.Path, name: str) -> bool:
    if name.endswith(TEXT_SUFFIXES):
        return True
    with open(root / name, "rb") as file:
        return file.read(2) == b"#!"


def text_problems(name: str, text: str) -> List[Problem]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for meaning, pattern in FORBIDDEN:
            match = pattern.search(line)
            if match:
                found.append(Problem(name, number, f"{match.group(0)!r} is {meaning}"))
    return found


def problems(root: pathlib.Path) -> List[Problem]:
    found: List[Problem] = []
    for name in tree.files(root):
        if is_text(root, name):
            found.extend(text_problems(name, tree.read(root, name)))
    return found
