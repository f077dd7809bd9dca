"""Classes stay small enough to be held in mind: how many functions and data members each may have.

Declarations are read by Universal Ctags. Records, which have data and no functions of their own,
may be as long as what they describe.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Set

import tree
from tree import Problem

METHODS = 20
MEMBERS = 15
CTAGS = "ctags"

# Classes beyond that, and why. Shorten the list when one shrinks.
EXCEPTIONS: Mapping[str, str] = {
    "optile::daemon::Daemon": "owns every part of the daemon and joins them, nothing else does",
    "optile::daemon::SessionDriver": "one function for each thing that a client does or is told",
    "optile::placement::policy::Tape": "an operation of automatic differentiation is a function",
    "optile::tuner::Session": "the tuner's one face: a function for each event",
}


@dataclass
class Class:
    """What a class declares: overloads count once each, constructors, operators and statics not."""

    path: str
    line: int
    methods: Set[str] = field(default_factory=set)
    members: Set[str] = field(default_factory=set)


def _scope(tag: Mapping[str, str]) -> str:
    """Without unnamed namespaces, which are called otherwise in each file."""
    return re.sub(r"__anon[0-9a-f]+::", "", tag.get("scope", ""))


def _name(tag: Mapping[str, str]) -> str:
    scope = _scope(tag)
    return f"{scope}::{tag['name']}" if scope else tag["name"]


def _is_method(tag: Mapping[str, str]) -> bool:
    name = tag["name"]
    own = tag["scope"].rsplit("::", 1)[-1]
    return name != own and not name.startswith(("~", "operator"))


def classes_in(root: pathlib.Path, names: List[str]) -> Dict[str, Class]:
    command = [CTAGS, "-L", "-", "-f", "-", "--output-format=json", "--language-force=C++",
               "--kinds-C++=cfmps", "--fields=+nKSZ", "--fields-C++=+{properties}"]
    listed = subprocess.run(command, cwd=root, input="\n".join(names), stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    tags = [json.loads(line) for line in listed.splitlines()]
    found = {_name(tag): Class(tag["path"], tag["line"])
             for tag in tags if tag["kind"] in ("class", "struct")}
    for tag in tags:
        of = found.get(_scope(tag))
        # What is defined outside of the class was declared in it.
        if of is None or tag["path"] != of.path or "static" in tag.get("properties", ""):
            continue
        if tag["kind"] == "member":
            of.members.add(tag["name"])
        elif tag["kind"] in ("prototype", "function") and _is_method(tag):
            of.methods.add(tag["name"] + tag.get("signature", ""))
    return found


def problems_of(name: str, one: Class) -> List[str]:
    found = []
    if len(one.methods) > METHODS:
        found.append(f"{name} has {len(one.methods)} functions, at most {METHODS}")
    if one.methods and len(one.members) > MEMBERS:
        found.append(f"{name} has {len(one.members)} data members, at most {MEMBERS}")
    return found


def product_sources(root: pathlib.Path) -> List[str]:
    names = tree.with_suffix(tree.files(root), ".h", ".cc")
    return [name for name in names if not name.startswith(("tests/", "bench/"))]


def problems(root: pathlib.Path) -> List[Problem]:
    found: List[Problem] = []
    for name, one in sorted(classes_in(root, product_sources(root)).items()):
        if name not in EXCEPTIONS:
            found.extend(Problem(one.path, one.line, text) for text in problems_of(name, one))
    return found
