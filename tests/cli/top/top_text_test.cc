// Text that others wrote, on a terminal.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdio>
#include <random>

#include "bindings/cli/top/picture.h"
#include "bindings/cli/top/shown_text.h"

namespace optile::cli {
namespace {

class ShownText : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
  void TearDown() override { std::setlocale(LC_CTYPE, "C"); }
};

TEST_F(ShownText, ReplacesControlCharacters) {
  EXPECT_EQ(shown("a\x1b[2Jb\r\nc\td\x7f\b", true), "a?[2Jb??c?d??");
  EXPECT_EQ(shown(std::string_view("a\0b", 3), true), "a?b");
  EXPECT_EQ(shown("\xc2\x9b", true), "?");  // the one-byte form of ESC [
  EXPECT_EQ(shown("\xe2\x80\xae right to left", true), " right to left");
}

TEST_F(ShownText, ReplacesInvalidUtf8) {
  EXPECT_EQ(shown("\xc3", true), "?");
  EXPECT_EQ(shown("\xe2\x82", true), "??");
  EXPECT_EQ(shown("\xc0\xaf", true), "??");            // a slash, too long
  EXPECT_EQ(shown("\xed\xa0\x80", true), "???");       // half of a pair
  EXPECT_EQ(shown("\xf4\x90\x80\x80", true), "????");  // beyond the last
}

TEST_F(ShownText, KeepsOnlyAsciiOutsideUtf8) {
  EXPECT_EQ(shown("tr\xc3\xa4ne", true), "tr\xc3\xa4ne");
  EXPECT_EQ(shown("tr\xc3\xa4ne", false), "tr?ne");
}

TEST_F(ShownText, WideCharactersTakeTwoColumns) {
  const std::string wide = shown("\xe8\xa8\x93\xe7\xb7\xb4", true);
  EXPECT_EQ(columns_of(wide), 4);
  EXPECT_EQ(columns_of(cut(wide, 3)), 3);
  EXPECT_EQ(cut(wide, 2), ">");  // half of one is none
  EXPECT_EQ(fitted(wide, 2), "> ");
  EXPECT_EQ(fitted("ab", 4, true), "  ab");
  EXPECT_EQ(cut("abcdef", 4), "abc>");
  EXPECT_EQ(cut("abcd", 4), "abcd");
  EXPECT_EQ(cut("abcd", 0), "");
}

TEST_F(ShownText, RandomBytesFitRequestedWidth) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string text = shown(bytes, round % 2 == 0);
    for (const char c : text) {
      ASSERT_FALSE((c >= 0 && c < ' ') || c == 0x7f) << round;
    }
    ASSERT_EQ(shown(text, round % 2 == 0), text) << round;
    const int columns = static_cast<int>(random() % 30);
    ASSERT_EQ(columns_of(fitted(text, columns)), columns) << round;
  }
}

TEST_F(ShownText, LimitsTextLength) {
  EXPECT_EQ(shown(std::string(1000000, 'x'), true).size(), kMaxShownBytes);
}

TEST(PictureLines, CutsAcrossStyles) {
  Line line;
  add(line, "abc", {.bold = true});
  add(line, "def");
  EXPECT_EQ(plain_text(cut_line(line, 6)), "abcdef");
  EXPECT_EQ(plain_text(cut_line(line, 5)), "abcd>");
  EXPECT_EQ(plain_text(cut_line(line, 3)), "ab>");
  EXPECT_EQ(plain_text(cut_line(line, 2)), "a>");
  EXPECT_EQ(plain_text(cut_line(line, 0)), "");
}

}  // namespace
}  // namespace optile::cli
