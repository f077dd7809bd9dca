"""Sizes that stay small: functions, files, headers, columns. Budgets only ever go down."""

from __future__ import annotations

import ast
import pathlib
import re
from dataclasses import dataclass
from typing import Dict, Iterator, List, Mapping, Tuple

import tree
from tree import Problem

FUNCTION_LINES = 70
FILE_LINES = 600
HEADER_LINES = 200
COLUMNS = 100

# Files with a budget of their own, and why. Lower it when the file shrinks.
OWN_BUDGET: Mapping[str, Tuple[int, str]] = {
    "tuner/session_state.h": (240, "the inside of one state machine, shared by its sources"),
    "bindings/abi/layout.h": (340, "the whole shared memory in one place, half of it contracts"),
}

# The same for functions: (file, begin of its first line) -> budget and why.
OWN_FUNCTION_BUDGET: Mapping[Tuple[str, str], Tuple[int, str]] = {
    ("tests/abi/layout_test.cc", "std::string layout()"): (120, "one line for each field"),
}

CHECKED_SUFFIXES = tree.CXX_SUFFIXES + (".py", ".cmake", "CMakeLists.txt")
SCRIPTS = ("dev", ".ci/run")


@dataclass(frozen=True)
class Span:
    """A function: where it starts, how long it is, how its first line reads."""

    line: int
    lines: int
    head: str


_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\s\\]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_NOT_A_FUNCTION = re.compile(
    r"^\s*(?:inline\s+)?(?:namespace|extern|class|struct|union|enum|template\s*<[^>]*>\s*"
    r"(?:class|struct))\b|=\s*$|\breturn\s*$"
)
_PARAMETERS = re.compile(r"\)\s*(?:const|noexcept|override|final|mutable|->[\w:<>&*,\s]+|&&?|\s)*$")
_MEMBER_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:\s*\w[^;]*$")


def _without_noise(text: str) -> str:
    """The text with comments, strings and preprocessor lines emptied; every line stays a line."""
    return _NOISE.sub(lambda match: "\n" * match.group(0).count("\n"), text)


def _brace_kind(head: str) -> str:
    """What a `{` after this text opens, outside functions: function, member of a list, other."""
    text = head.rstrip()
    if _NOT_A_FUNCTION.search(text):
        return "other"
    if _MEMBER_LIST.search(text):
        return "function" if text.endswith((")", "}")) else "member"
    return "function" if _PARAMETERS.search(text) else "other"


def cxx_functions(text: str) -> Iterator[Span]:
    """Function bodies outside other functions. Reads braces, not C++: good for formatted code."""
    code = _without_noise(text)
    open_braces: List[Tuple[str, int, str]] = []  # kind, line of the head, head
    depth_in_function = 0
    head_start, head_line, line = 0, 1, 1
    for position, character in enumerate(code):
        if character == "\n":
            line += 1
        if character not in "{};":
            continue
        kind = "other"
        if character == "{":
            head = code[head_start:position]
            kind = "inner" if depth_in_function else _brace_kind(head)
            blank = head[: len(head) - len(head.lstrip())]
            first = (head.strip().splitlines() or ["?"])[0]
            open_braces.append((kind, head_line + blank.count("\n"), first))
            depth_in_function += kind in ("function", "inner")
        elif character == "}" and open_braces:
            kind, start, first = open_braces.pop()
            depth_in_function -= kind in ("function", "inner")
            if kind == "function":
                yield Span(start, line - start + 1, first)
        if kind != "member":  # a member's braces belong to the head of its constructor
            head_start, head_line = position + 1, line


def python_functions(text: str) -> Iterator[Span]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            end = node.end_lineno or node.lineno
            yield Span(node.lineno, end - node.lineno + 1, f"def {node.name}")


def functions(name: str, text: str) -> Iterator[Span]:
    if name.endswith(tree.CXX_SUFFIXES):
        return cxx_functions(text)
    if name.endswith(".py"):
        return python_functions(text)
    return iter(())


def line_budget(name: str) -> int:
    if name in OWN_BUDGET:
        return OWN_BUDGET[name][0]
    return HEADER_LINES if name.endswith(".h") else FILE_LINES


def file_problems(name: str, text: str) -> List[Problem]:
    lines = text.splitlines()
    found = []
    if len(lines) > line_budget(name):
        found.append(Problem(name, 0, f"{len(lines)} lines, at most {line_budget(name)}"))
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            found.append(Problem(name, number, f"{len(line)} columns, at most {COLUMNS}"))
        if line != line.rstrip():
            found.append(Problem(name, number, "blanks at the end of the line"))
    for span in functions(name, text):
        budget, _ = OWN_FUNCTION_BUDGET.get((name, span.head), (FUNCTION_LINES, ""))
        if span.lines > budget:
            text_of = f"{span.head} has {span.lines} lines, at most {budget}"
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
