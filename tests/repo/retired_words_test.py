"""Names that were replaced stay away, and the check sees them in every form."""

from __future__ import annotations

import unittest

import retired_words
import tree


class RetiredWords(unittest.TestCase):
    def test_are_absent_from_tree(self) -> None:
        found = retired_words.problems(tree.source_root())
        self.assertEqual([], found, "\n".join(map(str, found)))

    def test_are_found_in_types_files_and_variables(self) -> None:
        for name, text in (
            ("daemon/one.cc", "class LeaseWord {};"),
            ("daemon/one.cc", "TEST(LeaseWordTest, Parses) {"),
            ("daemon/one.cc", "  const auto lease_word = parse();"),
            ("daemon/lease_word.cc", ""),
        ):
            with self.subTest(name, text=text):
                self.assertEqual(1, len(retired_words.problems_of(name, text)))

    def test_are_not_matched_inside_longer_words(self) -> None:
        for text in ("int lease_words_of_old;", "class LeaseWordy;", "class ReleaseWord;"):
            self.assertEqual([], retired_words.problems_of("daemon/one.cc", text), text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
