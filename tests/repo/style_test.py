#!/usr/bin/python3
"""The size budgets hold, and the measuring measures."""

import shutil
import subprocess
import tempfile
import unittest

import style
import tree


class LineBudgets(unittest.TestCase):
    def test_hold_in_tree(self) -> None:
        root = tree.source_root()
        for kind, text in style.worst(root).items():
            print(f"longest {kind}: {text}")
        found = style.problems(root)
        self.assertEqual(found, [], "\n" + "\n".join(map(str, found)))


class StyleChecks(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang-tidy-14"), "needs clang-tidy-14")
    def test_leave_cxx_functions_to_clang_tidy(self) -> None:
        config = tree.source_root() / ".clang-tidy"
        for lines, code in ((style.FUNCTION_LINES, 0), (style.FUNCTION_LINES + 1, 1)):
            with tempfile.NamedTemporaryFile("w", suffix=".cc") as planted:
                planted.write("int g();\nvoid f() {\n" + "  g();\n" * (lines - 2) + "}\n")
                planted.flush()
                ended = subprocess.run(
                    ["clang-tidy-14", f"--config-file={config}", planted.name, "--"],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(ended.returncode, code, ended.stdout)
            self.assertEqual("[readability-function-size" in ended.stdout, code == 1)

    def test_report_long_python_function(self) -> None:
        body = "def f():\n" + "    g()\n" * style.FUNCTION_LINES
        (problem,) = style.file_problems("tools/planted.py", body)
        self.assertIn("def f has 71 lines", problem.text)

    def test_report_long_file(self) -> None:
        (problem,) = style.file_problems("base/planted.h", "\n" * 601)
        self.assertIn("601 lines, at most 600", problem.text)

    def test_report_wide_line(self) -> None:
        (problem,) = style.file_problems("base/planted.h", "//" + "x" * 99 + "\n")
        self.assertIn("101 columns", problem.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
