#!/usr/bin/python3
"""Links resolve, commands and flags exist, the glossary has one meaning for each word."""

import pathlib
import tempfile
import unittest
from typing import List, Optional

import docs
import tree
from tree import Problem

ROOT = tree.source_root()
NO_PROGRAM = "optile and optiled are not built, so they cannot be asked for their commands"


def optile() -> Optional[docs.Commands]:
    folder = tree.binary_root() or ROOT / "build"
    built = all((folder / "bin" / name).exists() for name in ("optile", "optiled"))
    return docs.optile_commands(folder / "bin") if built else None


class Documents(unittest.TestCase):
    def assert_none(self, found: List[Problem]) -> None:
        self.assertEqual(found, [], "\n" + "\n".join(map(str, found)))

    def test_have_no_dead_links(self) -> None:
        markdown = tree.with_suffix(docs.documents(ROOT), ".md")
        self.assertIn("README.md", markdown)
        self.assert_none([one for name in markdown for one in docs.link_problems(ROOT, name)])

    def test_wrap_prose(self) -> None:
        for name in tree.with_suffix(docs.documents(ROOT), ".md"):
            self.assert_none(docs.column_problems(name, tree.read(ROOT, name)))

    def test_name_only_existing_commands_and_options(self) -> None:
        commands = optile()
        if commands is None:
            self.skipTest(NO_PROGRAM)
        self.assertIn("run", commands.flags)
        found = []
        for name in docs.documents(ROOT):
            text = tree.read(ROOT, name)
            found += docs.command_problems(name, text, docs.dev_commands(ROOT), commands)
        self.assert_none(found)

    def test_cover_every_command_in_manual(self) -> None:
        pages = [name for name in docs.documents(ROOT) if name.startswith("docs/reference/man/")]
        commands = optile()
        if commands is None:
            self.skipTest(NO_PROGRAM)
        manual = "".join(tree.read(ROOT, name) for name in pages).replace("\\-", "-")
        missing = [name for name in commands.flags if name and name not in manual]
        self.assertEqual(missing, [])
        sections = docs.man_sections(tree.read(ROOT, "docs/reference/man/optile.1"))
        for name in filter(None, commands.flags):
            self.assertRegex(sections["SYNOPSIS"], rf"(?m)^\.B (optile )?{name}\b", name)
            self.assertRegex(sections["COMMANDS"], rf"(?m)^\.B {name}\b", name)

    def test_sort_glossary_terms_without_duplicates(self) -> None:
        terms = docs.glossary_terms(tree.read(ROOT, "docs/reference/glossary.md"))
        self.assertGreater(len(terms), 20)
        self.assertEqual(len(terms), len(set(map(str.lower, terms))))
        self.assertEqual(terms, sorted(terms, key=str.lower))

    def test_name_a_test_for_every_fault(self) -> None:
        table = "docs/reference/faults.md"
        self.assert_none(docs.fault_problems(ROOT, table))
        rows = [one for one in tree.read(ROOT, table).splitlines() if "| F" in one]
        self.assertGreater(len(rows), 10)

    def test_have_unreleased_section_in_changelog(self) -> None:
        self.assertIn("## Unreleased\n", tree.read(ROOT, "CHANGELOG.md"))

    def test_list_complete_design_records(self) -> None:
        index = tree.read(ROOT, "docs/design/README.md")
        records = sorted(path.name for path in (ROOT / "docs/design").glob("[0-9]*.md"))
        self.assertTrue(records)
        for name in records:
            self.assertIn(f"({name})", index)
            text = tree.read(ROOT, f"docs/design/{name}")
            for heading in ("Context", "Decision", "Alternatives", "Failure modes"):
                self.assertIn(f"## {heading}\n", text, name)

    def test_have_readme_in_every_code_folder(self) -> None:
        for name in ROOT.glob("*/CMakeLists.txt"):
            self.assertTrue((name.parent / "README.md").exists(), f"{name.parent.name}/README.md")

    def test_are_listed_by_their_folder(self) -> None:
        for folder in ("guide", "reference", "design", "results"):
            index = tree.read(ROOT, f"docs/{folder}/README.md")
            for path in (ROOT / "docs" / folder).glob("*"):
                if path.is_file() and path.name != "README.md":
                    self.assertIn(f"({path.name})", index, folder)


class DocumentChecks(unittest.TestCase):
    """The checks see what they are for."""

    tools = docs.Commands({"run": frozenset({"--mode"}), "": frozenset({"--version"})})
    dev = docs.Commands({"test": frozenset(), "format": frozenset({"--check"})})

    def texts(self, text: str, name: str = "x.md") -> List[str]:
        return [one.text for one in docs.command_problems(name, text, self.dev, self.tools)]

    def test_ignore_printed_output(self) -> None:
        self.assertEqual(self.texts("```text\noptile gets more done\n```\n"), [])
        after = "```text\noptile gets\n```\n```\noptile gets\n```\n"
        self.assertEqual(self.texts(after), ["optile has no command gets"])

    def test_report_unknown_command(self) -> None:
        self.assertEqual(self.texts("see `optile fly now`"), ["optile has no command fly"])
        self.assertEqual(self.texts("```\n./dev fly\n```\n"), ["./dev has no command fly"])

    def test_report_unknown_option(self) -> None:
        self.assertEqual(
            self.texts("`optile run --fast -- x --y`"), ["optile run does not know --fast"]
        )
        self.assertEqual(self.texts("use `--fast`"), ["no command knows --fast"])
        self.assertEqual(
            self.texts("\\fB\\-\\-fast\\fR\n", "docs/reference/man/x.1"),
            ["no command knows --fast"],
        )

    def test_accept_existing_commands(self) -> None:
        text = "`optile run --mode off -- x --y`, `./dev test -L unit`, `./dev format --check`"
        self.assertEqual(self.texts(text + " and `--mode off`"), [])

    def test_report_dead_link(self) -> None:
        with tempfile.TemporaryDirectory(prefix="optile-docs-") as folder:
            root = pathlib.Path(folder)
            (root / "a.md").write_text("# One `x`, two\n", encoding="utf-8")
            (root / "b.md").write_text("[a](a.md#one-x-two) [b](c.md) [c](a.md#three)\n")
            found = [one.text for one in docs.link_problems(root, "b.md")]
        self.assertEqual(
            found, ["the link to c.md leads nowhere", "a.md has no heading #three"]
        )

    def test_report_untested_fault_and_unknown_tag(self) -> None:
        with tempfile.TemporaryDirectory(prefix="optile-docs-") as folder:
            root = pathlib.Path(folder)
            for name, text in {
                "tests/fuzz/CMakeLists.txt": "# fault: F4\noptile_add_fuzz_target(one ROUNDS 1)\n",
                "tests/a_test.cc": "// fault: F1, F9\nTEST(Suite, There) {}\n",
                "tests/e2e/daemon/test_a.py": "    def test_b(self):  # fault: F2\n",
                "faults.md": "".join(f"| F{one} | x | y | z |\n" for one in (1, 2, 3, 4)),
            }.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            found = [str(one) for one in docs.fault_problems(root, "faults.md")]
        self.assertEqual(
            found,
            [
                "tests/a_test.cc:1: faults.md has no fault F9",
                "faults.md:3: no test holds this",
            ],
        )

    def test_report_wide_prose(self) -> None:
        self.assertEqual(len(docs.column_problems("x.md", "x" * 101 + "\n|" + "x" * 101)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
