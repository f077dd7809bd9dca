#!/usr/bin/python3
"""Every class of end-to-end tests is a test of CTest: one that CMake does not name never runs."""

import ast
import re
import unittest
from typing import List

import tree

ROOT = tree.source_root()


def test_classes(text: str) -> List[str]:
    """Classes of a module that have tests of their own."""
    return [
        one.name
        for one in ast.parse(text).body
        if isinstance(one, ast.ClassDef)
        and any(isinstance(it, ast.FunctionDef) and it.name.startswith("test_") for it in one.body)
    ]


def registered_classes(cmake: str, module: str) -> List[str]:
    calls = re.findall(rf"optile_add_e2e_tests\({re.escape(module)}\s+([^)]*)\)", cmake)
    return [word for call in calls for word in call.split() if not word.isupper()]


class RegisteredTests(unittest.TestCase):
    def test_include_every_end_to_end_class(self) -> None:
        cmake = tree.read(ROOT, "tests/e2e/CMakeLists.txt")
        found = 0
        for path in sorted((ROOT / "tests/e2e").glob("*/test_*.py")):
            classes = test_classes(path.read_text(encoding="utf-8"))
            found += len(classes)
            module = f"{path.parent.name}.{path.stem}"
            missing = set(classes) - set(registered_classes(cmake, module))
            self.assertEqual(missing, set(), path.name)
        self.assertGreater(found, 50)

    def test_are_read_from_cmake(self) -> None:
        cmake = "optile_add_e2e_tests(a.test_b One\n  Two ALL)\noptile_add_e2e_tests(test_b X)\n"
        self.assertEqual(registered_classes(cmake, "a.test_b"), ["One", "Two"])
        module = "class Base: pass\nclass One(Base):\n    def test_x(self): pass\n"
        self.assertEqual(test_classes(module), ["One"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
