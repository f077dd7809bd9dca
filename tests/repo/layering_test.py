#!/usr/bin/python3
"""The layers hold, and the check would see it if they did not."""

import pathlib
import re
import shutil
import tempfile
import unittest

import layering
import tree


class Layering(unittest.TestCase):
    def test_has_only_downward_edges(self) -> None:
        self.assertEqual(layering.table_problems(), [])

    def test_holds_in_tree(self) -> None:
        found = layering.problems(tree.source_root())
        self.assertEqual(found, [], "\n" + "\n".join(map(str, found)))
        for folder, others in sorted(layering.edges(tree.source_root()).items()):
            print(f"{folder} includes {', '.join(sorted(others))}")


class ProbeFolders(unittest.TestCase):
    def test_match_names_in_build(self) -> None:
        root = tree.source_root()
        text = (root / "bindings/preload/CMakeLists.txt").read_text(encoding="utf-8")
        named = re.search(r"foreach\(probe ([^)]*)\)", text)
        assert named is not None
        folders = [folder.rsplit("/", 1)[1] for folder in layering.probe_folders(root)]
        self.assertEqual(named[1].split(), folders)


class LayeringChecks(unittest.TestCase):
    """A copy of the tree with one wrong line each: the check must find exactly that line."""

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory(prefix="optile-layering-")
        cls.addClassCleanup(holder.cleanup)
        cls.root = pathlib.Path(holder.name)
        source = tree.source_root()
        for name in tree.with_suffix(tree.files(source), *tree.CXX_SUFFIXES):
            (cls.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, cls.root / name)
        cls.before = set(map(str, layering.problems(cls.root)))

    def planted(self, name: str, line: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line + "\n", encoding="utf-8")
        new = set(map(str, layering.problems(self.root))) - self.before
        path.unlink()
        self.assertEqual(len(new), 1, f"{name}: {line} gave {new}")
        return new.pop()

    def test_report_upward_include(self) -> None:
        self.assertIn(
            "perfmodel/machine must not see tuner",
            self.planted("perfmodel/machine/planted.cc", '#include "tuner/plan/plan.h"'),
        )

    def test_report_sibling_include(self) -> None:
        self.assertIn(
            "sched/leases must not see tuner",
            self.planted("sched/leases/planted.h", '#include "tuner/session/session.h"'),
        )

    def test_restrict_shim_to_libc_part_of_base(self) -> None:
        self.assertIn(
            "bindings/preload/core must not see base",
            self.planted("bindings/preload/core/planted.cc", '#include "base/result.h"'),
        )

    def test_hide_probes_from_core(self) -> None:
        self.assertIn(
            "bindings/preload/core must not see bindings/preload/probes/tbb",
            self.planted(
                "bindings/preload/core/planted.cc",
                '#include "bindings/preload/probes/tbb/tbb_scope.h"',
            ),
        )

    def test_hide_probes_from_other_probes(self) -> None:
        self.assertIn(
            "bindings/preload/probes/tbb must not see bindings/preload/probes/openmp",
            self.planted(
                "bindings/preload/probes/tbb/planted.cc",
                '#include "bindings/preload/probes/openmp/region_rules.h"',
            ),
        )

    def test_restrict_daemon_to_abi_of_bindings(self) -> None:
        self.assertIn(
            "daemon must not see bindings/preload",
            self.planted("daemon/planted.cc", '#include "bindings/preload/core/probe.h"'),
        )

    def test_report_third_party_header_elsewhere(self) -> None:
        self.assertIn(
            "<hwloc.h> is for perfmodel/machine/hwloc_machine_source.cc only",
            self.planted("daemon/planted.cc", "#include <hwloc.h>"),
        )

    def test_report_unknown_library(self) -> None:
        self.assertIn(
            "is in no table", self.planted("daemon/planted.cc", "#include <zstd.h>")
        )

    def test_accept_header_beside_its_source(self) -> None:
        self.assertIn(
            "no path from the root", self.planted("tuner/planted.cc", '#include "plan.h"')
        )

    def test_report_folder_without_layer(self) -> None:
        self.assertIn(
            "in no layer", self.planted("newcomer/planted.cc", '#include "base/result.h"')
        )

    def test_report_x86_outside_its_file(self) -> None:
        self.assertIn(
            "x86 is assumed", self.planted("tuner/planted.cc", "auto now = __rdtsc();")
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
