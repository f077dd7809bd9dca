"""docs/results/fit.md says what the simulator says now, digit for digit, and how good that is."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["OPTILE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))

import fit_op_laws  # noqa: E402
import paper_figures  # noqa: E402

TOOL = BUILD / "bin" / "predictions"


class PaperFigures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.worlds = paper_figures.predicted(TOOL)
        cls.found = cls.worlds["standard"]

    def test_match_document(self):
        written = paper_figures.DOCUMENT.read_text(encoding="utf-8")
        self.assertEqual(written, paper_figures.document(self.worlds))

    def test_are_deterministic(self):
        again = paper_figures.predicted(TOOL, ["dcgan"])
        self.assertEqual(again["standard"]["dcgan"], self.found["dcgan"])

    def test_reach_goal_in_every_stage_of_figure_3(self):
        for name in paper_figures.NETWORKS:
            ours = paper_figures.stages(self.found[name])
            for stage, theirs in paper_figures.STAGES[name].items():
                self.assertLessEqual(abs(ours[stage] / theirs - 1), 0.10, f"{stage} of {name}")

    def test_have_reason_for_every_miss(self):
        reasons = {paper_figures.reason(name) for name, _, _ in paper_figures.misses(self.found)}
        self.assertEqual(reasons, {words for _, words in paper_figures.WHY})
        for words in reasons:
            self.assertIn(f"- **{words}", paper_figures.NOTES)

    def test_match_counts_in_notes(self):
        notes = " ".join(paper_figures.NOTES.split())
        widest = {name: self.found[name]["wants_all_cores"] for name in paper_figures.NETWORKS}
        self.assertEqual((widest["resnet50"], widest["dcgan"]), (0, 0))
        self.assertIn(f"{widest['inception_v3']:,} of {self.found['inception_v3']['ops']:,}", notes)
        self.assertIn(f"0 of {self.found['resnet50']['ops']:,}", notes)
        said = {"dcgan": "they take {:.0f} ms here", "resnet50": "{:.0f} ms, where the paper"}
        for name, words in said.items():
            alone = self.found[name]["alone_on_all_cores"]
            others = [one for op, one in alone.items() if op not in fit_op_laws.TABLE_VI[name]]
            self.assertIn(words.format(sum(others) * 1e3), notes)

    def test_depend_on_every_assumption(self):
        self.assertEqual(set(self.worlds), set(paper_figures.WORLDS))
        standard = paper_figures.moved(self.found)
        for name, world in self.worlds.items():
            self.assertEqual(paper_figures.moved(world) == standard, name == "standard", name)

    def test_reach_goal_in_totals(self):
        totals = []
        for name in paper_figures.NETWORKS:
            ours, theirs = paper_figures.stages(self.found[name]), paper_figures.STAGES[name]
            totals.append(ours["all"])
            self.assertLessEqual(abs(ours["all"] / theirs["all"] - 1), 0.10, name)
        mean = sum(totals) / len(totals)
        self.assertLessEqual(abs(mean / paper_figures.MEAN - 1), 0.05)

    def test_have_serial_shares_of_table_ii(self):
        # The mean of the rows that are not best on all cores, as predictions.cc has them.
        shares = fit_op_laws.table_ii_serial()
        self.assertAlmostEqual((shares[0] + shares[1]) / 2, 0.341, delta=0.0006)
        self.assertAlmostEqual((shares[3] + shares[4]) / 2, 0.242, delta=0.0006)


if __name__ == "__main__":
    unittest.main()
