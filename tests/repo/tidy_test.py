#!/usr/bin/python3
"""tools/tidy.py: what it asks clang-tidy again, and what it does not."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Stands for clang-tidy: notes that it was asked, and finds what a file says is to be found.
FAKE = """#!/bin/sh
[ "$1" = --version ] && { echo fake 1; exit 0; }
for file; do [ "${file%.cc}" = "$file" ] || break; done
echo "$file" >> "$ASKED"
! cat "$file" $(sed -n 's/^#include "\\(.*[.]cc\\)".*/\\1/p' "$file") | grep -q WRONG
"""


class TidyCache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.asked = self.folder / "asked"
        tool = self.tool("")
        (self.folder / "one.h").write_text("int one();\n")
        (self.folder / "one.cc").write_text('#include "one.h"\nint one() { return 1; }\n')
        (self.folder / "two.cc").write_text("int two() { return 2; }\n")
        self.files = ("one.cc", "two.cc")
        self.commands("-O1")
        self.env = {**os.environ, "ASKED": str(self.asked), "OPTILE_CLANG_TIDY": str(tool),
                    "XDG_CACHE_HOME": str(self.folder / "cache")}

    def tool(self, first):
        path = self.folder / "fake-tidy"
        path.write_text(FAKE.replace("\n", f"\n{first}\n", 1))
        path.chmod(0o755)
        return path

    def commands(self, option):
        (self.folder / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.folder), "file": name,
             "command": f"ccache g++ {option} -DOF={name} -o {name}.o -c {name}"}
            for name in ("one.cc", "two.cc")]))

    def same_commands(self):
        (self.folder / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.folder), "file": name, "command": f"g++ -o {name}.o -c {name}"}
            for name in ("one.cc", "two.cc")]))

    def compile_together(self):
        """Both sources by one file, as CMake's unity builds do it."""
        made = self.folder / "unity_0_cxx.cxx"
        made.write_text("".join(f'#include "{self.folder / name}"\n\n'
                                for name in ("one.cc", "two.cc")))
        (self.folder / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.folder), "file": str(made),
             "command": f"ccache g++ -O1 -o made.o -c {made}"}]))

    def look(self, *options):
        """Which files were asked about, and the exit status."""
        self.asked.write_text("")
        files = [str(self.folder / name) for name in self.files]
        run = subprocess.run(
            [sys.executable, ROOT / "tools/tidy.py", "--build", self.folder, "--root", self.folder,
             *options, *files],
            env=self.env, capture_output=True, text=True, check=False)
        asked = {pathlib.Path(line).name for line in self.asked.read_text().splitlines()}
        return asked, run.returncode

    def test_skips_unchanged_sources(self):
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())
        self.assertEqual((set(), 0), self.look())

    def test_depends_on_headers(self):
        self.look()
        (self.folder / "one.h").write_text("int one();  // another\n")
        self.assertEqual(({"one.cc"}, 0), self.look())

    def test_depends_on_compiler_options(self):
        self.look()
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look("--deep"))
        self.commands("-O2")
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())

    def test_depends_on_checks(self):
        self.look()
        (self.folder / ".clang-tidy").write_text("Checks: '*'\n")
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())
        self.assertEqual((set(), 0), self.look())

    def test_repeats_findings(self):
        (self.folder / "two.cc").write_text("int two() { return 2; }  // WRONG\n")
        self.assertEqual(({"one.cc", "two.cc"}, 1), self.look())
        self.assertEqual(({"two.cc"}, 1), self.look())

    def test_is_bypassed_on_request(self):
        self.env["XDG_CACHE_HOME"] = "/dev/null"
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())

    def test_checks_unity_sources_together(self):
        self.compile_together()
        # The analyzer looks into other files than its own below such a name only.
        self.assertEqual(({"UnifiedSource-2-one.cc"}, 0), self.look())
        self.assertEqual((set(), 0), self.look())
        (self.folder / "two.cc").write_text("int two() { return 2; }  // WRONG\n")
        self.assertEqual(({"UnifiedSource-2-one.cc"}, 1), self.look())
        self.assertEqual(({"UnifiedSource-2-one.cc"}, 1), self.look())

    def test_checks_single_source_of_unity_build(self):
        self.compile_together()
        self.files = ("two.cc",)
        self.assertEqual(({"two.cc"}, 0), self.look())

    def test_checks_sources_of_same_flags_together(self):
        self.same_commands()
        self.assertEqual(({"UnifiedSource-2-one.cc"}, 0), self.look())
        self.assertEqual((set(), 0), self.look())

    def test_groups_sources_despite_macros_of_others(self):
        (self.folder / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.folder), "file": name,
             "command": f"g++ {flags} -o {name}.o -c {name}"}
            for name, flags in (("one.cc", "-O1 -DONE=1 -fPIC"), ("two.cc", "-O2 -DTWO=2 -fPIE"))]))
        self.assertEqual(({"UnifiedSource-2-one.cc"}, 0), self.look())
        (self.folder / "two.cc").write_text("#ifdef ONE\nint two() { return 2; }\n#endif\n")
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())

    def test_separates_sources_of_other_meaning(self):
        for flags in ("-DNDEBUG", "-fopenmp", "-O0", "-Done_EXPORTS"):
            with self.subTest(flags):
                self.same_commands()
                commands = json.loads((self.folder / "compile_commands.json").read_text())
                commands[0]["command"] = f"g++ -O1 {flags} -o one.cc.o -c one.cc"
                commands[1]["command"] = "g++ -O1 -o two.cc.o -c two.cc"
                (self.folder / "compile_commands.json").write_text(json.dumps(commands))
                self.assertNotIn("UnifiedSource-2-one.cc", self.look()[0])

    def test_checks_each_command_alone_after_finding(self):
        self.same_commands()
        (self.folder / "two.cc").write_text("int two() { return 2; }  // WRONG\n")
        self.assertEqual(({"UnifiedSource-2-one.cc", "one.cc", "two.cc"}, 1), self.look())
        self.assertEqual(({"UnifiedSource-2-one.cc", "two.cc"}, 1), self.look())

    def test_ignores_finding_of_group_only(self):
        """As where two files use a name for two things."""
        self.same_commands()
        self.env["OPTILE_CLANG_TIDY"] = str(self.tool("case $* in *Unified*) exit 1; esac"))
        self.assertEqual(0, self.look()[1])

    def test_groups_sources_without_common_names(self):
        self.same_commands()
        for text in ("struct Wanted {\n};\n", "constexpr int Wanted = 2;\n",
                     "std::vector<int> Wanted(int a,\n                        int b) {\n}\n",
                     "#define Wanted 1\n", "int Wanted[] = {1};\n"):
            with self.subTest(text):
                (self.folder / "one.cc").write_text(text)
                (self.folder / "two.cc").write_text("class Wanted : public std::string {\n};\n")
                self.assertNotIn("UnifiedSource-2-one.cc", self.look()[0])

    def test_groups_sources_with_names_of_common_header(self):
        self.same_commands()
        (self.folder / "two.cc").write_text('#include "one.h"\nint two() { return one(); }\n')
        self.assertEqual(({"UnifiedSource-2-one.cc"}, 0), self.look())

    def test_separates_definitions_of_one_declaration(self):
        """As entries of fuzz targets."""
        self.same_commands()
        (self.folder / "two.cc").write_text('#include "one.h"\nint one() {\n  return 2;\n}\n')
        (self.folder / "one.cc").write_text('#include "one.h"\nint one() {\n  return 1;\n}\n')
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())

    def test_excludes_sources_not_compiled(self):
        (self.folder / "three.cc").write_text("// WRONG\n")
        self.files = ("one.cc", "three.cc")
        self.assertEqual(({"one.cc"}, 0), self.look())

    def test_retries_sources_that_do_not_compile(self):
        (self.folder / "one.h").unlink()
        self.assertEqual(({"one.cc", "two.cc"}, 0), self.look())
        self.assertEqual(({"one.cc"}, 0), self.look())


if __name__ == "__main__":
    unittest.main()
