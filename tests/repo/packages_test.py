#!/usr/bin/python3
"""tools/packages.txt is the one source of truth for packages: well formed, and complete."""

import re
import unittest

import tree

GROUPS = ("build", "run", "test", "emulated_machine")
NAME = re.compile(r"[a-z0-9][a-z0-9.+-]+")


class PackageList(unittest.TestCase):
    def setUp(self) -> None:
        self.root = tree.source_root()
        self.lines = [
            line.split()
            for line in tree.read(self.root, "tools/packages.txt").splitlines()
            if line and not line.startswith("#")
        ]

    def test_has_group_and_package_on_every_line(self) -> None:
        for line in self.lines:
            self.assertEqual(len(line), 2, line)
            self.assertIn(line[0], GROUPS)
            self.assertTrue(NAME.fullmatch(line[1]), line)

    def test_has_no_duplicates(self) -> None:
        names = [line[1] for line in self.lines]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_covers_cmake_dependencies(self) -> None:
        # Every find_… says in a comment which Debian package brings it.
        named = set()
        for name in tree.files(self.root):
            if name.endswith((".cmake", "CMakeLists.txt")):
                for line in tree.read(self.root, name).splitlines():
                    code, _, comment = line.partition("#")
                    if re.search(r"\b(find_|pkg_)\w+\(", code):
                        named.update(re.findall(r"\b(?:lib)?[a-z0-9.+-]+-dev\b", comment))
        self.assertIn("libhwloc-dev", named)
        self.assertEqual(named - {line[1] for line in self.lines}, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
