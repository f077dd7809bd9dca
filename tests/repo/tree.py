"""The files of the repository, and how a check reports what it found."""

from __future__ import annotations

import os
import pathlib
import subprocess
from dataclasses import dataclass
from typing import Iterable, List, Optional

CXX_SUFFIXES = (".h", ".cc", ".c")
LEFT_OUT = (".git", "__pycache__")


@dataclass(frozen=True)
class Problem:
    """One violation; `line` counts from 1, 0 when the whole file is meant."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def source_root() -> pathlib.Path:
    named = os.environ.get("OPTILE_SOURCE_DIR")
    return pathlib.Path(named) if named else pathlib.Path(__file__).resolve().parents[2]


def binary_root() -> Optional[pathlib.Path]:
    named = os.environ.get("OPTILE_BINARY_DIR")
    return pathlib.Path(named) if named else None


def _listed_by_git(root: pathlib.Path) -> Optional[List[str]]:
    # Files that are not committed yet count: the next commit brings them.
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(
            command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted(set(done.stdout.decode().split("\0")) - {""})


def files(root: pathlib.Path) -> List[str]:
    """Paths of the repository's files from its root, with `/`, sorted; no build results."""
    names = _listed_by_git(root) if (root / ".git").exists() else None
    if names is None:
        names = []
        for folder, folders, found in os.walk(root):
            folders[:] = [
                name for name in folders if name not in LEFT_OUT and not name.startswith("build")
            ]
            here = pathlib.Path(folder).relative_to(root)
            names.extend((here / name).as_posix() for name in found if not name.endswith(".pyc"))
        names.sort()
    return [name for name in names if (root / name).is_file()]


def with_suffix(names: Iterable[str], *suffixes: str) -> List[str]:
    return [name for name in names if name.endswith(suffixes)]


def read(root: pathlib.Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8", errors="replace")
