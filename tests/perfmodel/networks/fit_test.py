"""The fitted laws in the tree are what the fit gives, and the fit is what the tables say."""

import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(os.environ["OPTILE_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["OPTILE_BINARY_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))

import fit_op_laws  # noqa: E402


class FittedLaws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fits = fit_op_laws.fit_all(BUILD / "bin" / "network_ops")

    def test_match_source_in_tree(self):
        written = fit_op_laws.OUTPUT.read_text(encoding="utf-8")
        self.assertEqual(written, fit_op_laws.source_text(self.fits))

    def test_reproduce_table_vi(self):
        for network, ops in fit_op_laws.TABLE_VI.items():
            found = {one.op: one for one in self.fits[network]}
            for op, (milliseconds, gain) in ops.items():
                self.assertAlmostEqual(found[op].seconds * 1e3, milliseconds, places=6, msg=op)
                # Widths are whole, so a gain is met to the hundredth that the table prints.
                self.assertLess(abs(found[op].gain - gain), 0.01, f"{network} {op}")

    def test_leave_no_other_op_in_table_vi(self):
        for network, ops in self.fits.items():
            fifth = min(one.seconds for one in ops if one.source == "VI")
            for one in ops:
                self.assertLessEqual(one.seconds, fifth * 1.0001 if one.source != "VI" else 1e9)

    def test_reproduce_best_widths_of_table_ii(self):
        power, factors = fit_op_laws.fitted_best_widths()
        for op, seconds, best, gain in fit_op_laws.TABLE_II:
            ours = fit_op_laws.BestWidth(factors[op], power).of(seconds * 1e-3 / (1 + gain))
            self.assertLess(abs(ours - best) / best, 0.06, f"{op} {seconds}")


if __name__ == "__main__":
    unittest.main()
