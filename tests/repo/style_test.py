#!/usr/bin/python3
"""The size budgets hold, and the measuring measures."""

import unittest

import style
import tree

CXX = """\
#include <vector>

namespace optile::tuner {
namespace {
const char* const kNames[] = {"a{", "b"};
struct Pair {
  int a = 0;
};
}  // namespace

// A comment with a brace: {
Planner::Planner(int cores)
    : cores_{cores}, names_(kNames) {
  for (int i = 0; i < cores; ++i) {
    add([&] {
      return i;
    });
  }
}

int Planner::width() const {
  return '{' == 123 ? 1'000 : 2;
}
}  // namespace optile::tuner
"""


class Budgets(unittest.TestCase):
    def test_tree_is_within_its_budgets(self) -> None:
        root = tree.source_root()
        for kind, text in style.worst(root).items():
            print(f"longest {kind}: {text}")
        found = style.problems(root)
        self.assertEqual(found, [], "\n" + "\n".join(map(str, found)))

    def test_own_budgets_are_needed(self) -> None:
        root = tree.source_root()
        for name in style.OWN_BUDGET:
            lines = len(tree.read(root, name).splitlines())
            usual = style.HEADER_LINES if name.endswith(".h") else style.FILE_LINES
            self.assertGreater(lines, usual, f"{name} needs no budget of its own any more")


class Measuring(unittest.TestCase):
    def test_functions_are_found(self) -> None:
        spans = [(span.line, span.lines, span.head) for span in style.cxx_functions(CXX)]
        self.assertEqual(
            spans,
            [
                (12, 8, "Planner::Planner(int cores)"),
                (21, 3, "int Planner::width() const {".rstrip(" {")),
            ],
        )

    def test_a_long_function_is_a_problem(self) -> None:
        body = "void f() {\n" + "  g();\n" * style.FUNCTION_LINES + "}\n"
        (problem,) = style.file_problems("base/planted.cc", body)
        self.assertIn("72 lines, at most 70", problem.text)

    def test_a_long_python_function_is_a_problem(self) -> None:
        body = "def f():\n" + "    g()\n" * style.FUNCTION_LINES
        (problem,) = style.file_problems("tools/planted.py", body)
        self.assertIn("def f has 71 lines", problem.text)

    def test_a_long_header_is_a_problem(self) -> None:
        (problem,) = style.file_problems("base/planted.h", "\n" * 201)
        self.assertIn("201 lines, at most 200", problem.text)

    def test_a_wide_line_is_a_problem(self) -> None:
        (problem,) = style.file_problems("base/planted.h", "//" + "x" * 99 + "\n")
        self.assertIn("101 columns", problem.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
