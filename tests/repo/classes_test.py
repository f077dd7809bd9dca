#!/usr/bin/python3
"""No class has more functions or data members than a reader can hold, and the counting counts."""

import pathlib
import shutil
import tempfile
import unittest

import classes
import tree


@unittest.skipUnless(shutil.which(classes.CTAGS), "needs universal-ctags")
class ClassBudgets(unittest.TestCase):
    def test_hold_in_tree(self) -> None:
        found = classes.problems(tree.source_root())
        self.assertEqual(found, [], "\n" + "\n".join(map(str, found)))

    def test_have_no_unused_exceptions(self) -> None:
        root = tree.source_root()
        known = classes.classes_in(root, classes.product_sources(root))
        for name, reason in classes.EXCEPTIONS.items():
            self.assertTrue(reason, name)
            self.assertIn(name, known)
            self.assertTrue(classes.problems_of(name, known[name]), f"{name} is within the budget")


@unittest.skipUnless(shutil.which(classes.CTAGS), "needs universal-ctags")
class ClassCounts(unittest.TestCase):
    def read(self, text: str) -> classes.Class:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "planted.h").write_text("namespace a {\n" + text + "}\n")
            (root / "planted.cc").write_text("namespace a {\nint Planted::f() { return 0; }\n}\n")
            found = classes.classes_in(root, ["planted.h", "planted.cc"])
        return found["a::Planted"]

    def test_leave_out_constructors_operators_and_statics(self) -> None:
        planted = self.read("class Planted {\n public:\n  Planted();\n  ~Planted();\n"
                            "  bool operator==(const Planted&) const;\n  static int s();\n"
                            "  static constexpr int kOne = 1;\n  int f();\n  int f(int one);\n"
                            " private:\n  int g() const { return one_; }\n  int one_ = 0, two_;\n"
                            "  std::map<int, std::vector<int>> three_;\n};\n")
        self.assertEqual(3, len(planted.methods), planted.methods)
        self.assertEqual({"one_", "two_", "three_"}, planted.members)

    def test_report_many_functions(self) -> None:
        body = "".join(f"  int f{i}();\n" for i in range(classes.METHODS + 1))
        (text,) = classes.problems_of("a::Planted", self.read(f"class Planted {{\n{body}}};\n"))
        self.assertIn("21 functions, at most 20", text)

    def test_report_many_members_beside_functions(self) -> None:
        body = "".join(f"  int m{i};\n" for i in range(classes.MEMBERS + 1))
        record = self.read(f"struct Planted {{\n{body}}};\n")
        self.assertEqual([], classes.problems_of("a::Planted", record))
        planted = self.read(f"class Planted {{\n  int f();\n{body}}};\n")
        (text,) = classes.problems_of("a::Planted", planted)
        self.assertIn("16 data members, at most 15", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
