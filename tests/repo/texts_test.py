#!/usr/bin/python3
"""Nothing in the tree that belongs to one machine or one moment."""

import unittest

import texts
import tree


class ForbiddenTexts(unittest.TestCase):
    def test_are_absent_from_tree(self) -> None:
        found = texts.problems(tree.source_root())
        self.assertEqual(found, [], "\n" + "\n".join(map(str, found)))

    def test_are_found_when_planted(self) -> None:
        planted = (
            "// TO" + "DO: later",
            "see https://py" + "pi.org/project/x",
            "open('/ro" + "ot/x')",
            "see ../sha" + "red/notes.md",
        )
        for line in planted:
            self.assertEqual(len(texts.text_problems("base/planted.h", line)), 1, line)

    def test_exclude_ordinary_lines(self) -> None:
        ordinary = ("/usr/bin/python3", "build/home/x", "${root}/home/x", "a todo list", "/proc/1")
        for line in ordinary:
            self.assertEqual(texts.text_problems("base/planted.h", line), [], line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
