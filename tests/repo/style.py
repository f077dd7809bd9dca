"""Sizes that stay small: files, columns, functions of Python. Budgets only ever go down.

Functions of C and C++ are clang-tidy's (readability-function-size), classes are classes.py's.
"""

from __future__ import annotations

import ast
import pathlib
from dataclasses import dataclass
from typing import Dict, Iterator, List

import tree
from tree import Problem

FUNCTION_LINES = 70
FILE_LINES = 600
COLUMNS = 100

CHECKED_SUFFIXES = tree.CXX_SUFFIXES + (".py", ".cmake", "CMakeLists.txt")
SCRIPTS = ("dev", ".ci/run")


@dataclass(frozen=True)
class Span:
    """A function: where it starts, how long it is, how its first line reads."""

    line: int
    lines: int
    head: str


def python_functions(text: str) -> Iterator[Span]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            end = node.end_lineno or node.lineno
            yield Span(node.lineno, end - node.lineno + 1, f"def {node.name}")


def functions(name: str, text: str) -> Iterator[Span]:
    return python_functions(text) if name.endswith(".py") else iter(())


def file_problems(name: str, text: str) -> List[Problem]:
    lines = text.splitlines()
    found = []
    if len(lines) > FILE_LINES:
        found.append(Problem(name, 0, f"{len(lines)} lines, at most {FILE_LINES}"))
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            found.append(Problem(name, number, f"{len(line)} columns, at most {COLUMNS}"))
        if line != line.rstrip():
            found.append(Problem(name, number, "blanks at the end of the line"))
    for span in functions(name, text):
        if span.lines > FUNCTION_LINES:
            text_of = f"{span.head} has {span.lines} lines, at most {FUNCTION_LINES}"
            found.append(Problem(name, span.line, text_of))
    return found


def checked_files(root: pathlib.Path) -> List[str]:
    return [
        name
        for name in tree.files(root)
        if name.endswith(CHECKED_SUFFIXES) or name in SCRIPTS
    ]


def problems(root: pathlib.Path) -> List[Problem]:
    found: List[Problem] = []
    for name in checked_files(root):
        found.extend(file_problems(name, tree.read(root, name)))
    return found


def worst(root: pathlib.Path) -> Dict[str, str]:
    """The largest of each kind, so that everybody sees where the budgets could go down."""
    longest = {"function": (0, ""), "source": (0, ""), "header": (0, "")}
    for name in checked_files(root):
        text = tree.read(root, name)
        kind = "header" if name.endswith(".h") else "source"
        longest[kind] = max(longest[kind], (len(text.splitlines()), name))
        for span in functions(name, text):
            longest["function"] = max(
                longest["function"], (span.lines, f"{name}:{span.line} {span.head}")
            )
    return {kind: f"{lines} lines, {where}" for kind, (lines, where) in longest.items()}
