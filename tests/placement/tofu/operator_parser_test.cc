#include "placement/tofu/operator_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace optile::placement::tofu {
namespace {

std::string refusal(const std::string& text) {
  const auto parsed = parse_operator(text);
  return parsed.ok() ? "accepted" : parsed.message();
}

TEST(TofuParserTest, ReadsPaperExample) {
  const auto parsed = parse_operator(
      "conv1d(data, filters)[b, co, x] =\n"
      "  Sum(ci, dx: data[b, ci, x+dx]*filters[ci, co, dx])");
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const Operator& op = parsed.value();
  EXPECT_EQ(op.name, "conv1d");
  EXPECT_EQ(op.outputs, 3);
  ASSERT_EQ(op.indices.size(), 5U);
  EXPECT_EQ(op.indices[3].name, "ci");
  EXPECT_TRUE(op.indices[4].reduced);
  EXPECT_EQ(op.ranks, (std::vector<int>{3, 3}));
  ASSERT_EQ(op.body.kind, Expression::Kind::kReduction);
  EXPECT_EQ(op.body.over, (std::vector<int>{3, 4}));
}

TEST(TofuParserTest, ReadsShiftsAndExtents) {
  const auto parsed =
      parse_operator("f(a)[x] = Max(d < 3: a[2*x + d*3 - 1 - x]) + 1.5 * a[(x + 1) / 2] - -x");
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const Operator& op = parsed.value();
  EXPECT_EQ(op.indices[1].extent, 3);
  const Shift& shift = op.body.parts[0].parts[0].parts[0].shifts[0];
  ASSERT_EQ(shift.terms.size(), 2U);
  EXPECT_EQ(shift.terms[0].factor, 1);
  EXPECT_EQ(shift.terms[1].factor, 3);
  EXPECT_EQ(shift.constant, -1);
}

TEST(TofuParserTest, ReportsPositionOfErrors) {
  EXPECT_EQ(refusal(""), "line 1, column 1: expected the name of the operator");
  EXPECT_EQ(refusal("f(a)[i] = a[j]"), "line 1, column 13: no index is called j");
  EXPECT_EQ(refusal("f(a)[i] =\n  b[i]"), "line 2, column 3: no input is called b");
  EXPECT_EQ(refusal("f(a, a)[i] = a[i]"), "line 1, column 6: a second input a");
  EXPECT_EQ(refusal("f(a)[i, i] = a[i]"), "line 1, column 9: a second index i");
  EXPECT_EQ(refusal("f(a)[a] = 1"), "line 1, column 6: a is an input");
  EXPECT_EQ(refusal("f(a)[i] = a[i] a"), "line 1, column 16: expected the end of the description");
  EXPECT_EQ(refusal("f(a)[i] = a[i] + a[i, i]"), "line 1, column 18: a has 1 dimensions elsewhere");
  EXPECT_EQ(refusal("f(a, b)[i] = a[i]"), "line 1, column 1: the input b is not read");
  EXPECT_EQ(refusal("f(a)[i] = Sum(k: a[i + k])"),
            "line 1, column 15: the extent of k is unknown: write k < N, or read an input with it "
            "alone");
  EXPECT_EQ(refusal("f(a)[i] = Sum(i: a[i])"), "line 1, column 15: a second index i");
  EXPECT_EQ(refusal("f(a)[i] = Sum(k: a[k]) + a[k]"), "line 1, column 28: no index is called k");
  EXPECT_EQ(refusal("f(a)[i] = foo(a[i])"), "line 1, column 11: no function is called foo");
  EXPECT_EQ(refusal("f(a)[i] = pow(a[i])"), "line 1, column 19: expected ','");
  EXPECT_EQ(refusal("f(a)[i] = a[i / 0]"), "line 1, column 15: division by zero");
  EXPECT_EQ(refusal("f(a)[i] = a[i + 1 / 2]"),
            "line 1, column 19: write (...) / N: the whole is divided");
  EXPECT_EQ(refusal("f(a)[i] = a[99999999999999999999 * i]"), "line 1, column 13: more than 65536");
  EXPECT_EQ(refusal("f(a)[i] = a[65536 * i - i + 65536]"), "accepted");
  EXPECT_EQ(refusal("f(a)[i] = a[65536 * i + i]"),
            "line 1, column 25: this adds up to more than 65536");
  EXPECT_EQ(refusal("f(a)[i] = a[i - 9 - 65535]"),
            "line 1, column 21: this adds up to more than 65536");
  EXPECT_EQ(refusal("f(a)[i] = a[i"), "line 1, column 14: expected ']'");
  EXPECT_EQ(refusal("f(a)[i] = a"), "line 1, column 11: expected '[' after the input a");
  EXPECT_EQ(refusal("f(a)[i] = 1e999 * a[i]"), "line 1, column 11: no finite number");
  EXPECT_EQ(refusal("f(a)[i] = Max(d < 0: a[i + d])"),
            "line 1, column 15: the index d has no values");
}

TEST(TofuParserTest, RejectsDeepAndLongTexts) {
  const std::string head = "f(a)[i] = ";
  EXPECT_NE(refusal(head + std::string(100000, '(')), "accepted");
  EXPECT_NE(refusal(head + std::string(1000, '(') + "a[i]" + std::string(1000, ')')), "accepted");
  EXPECT_NE(refusal(head + std::string(1000, '-') + "a[i]"), "accepted");
  std::string chain = head + "a[i]";
  for (int i = 0; i < 1000; ++i) chain += " + a[i]";
  EXPECT_NE(refusal(chain), "accepted");
  EXPECT_NE(refusal(head + std::string(1 << 17, ' ') + "a[i]"), "accepted");
  EXPECT_NE(refusal(std::string("f(a)[i] = a[i]\0", 15)), "accepted");
}

TEST(TofuParserTest, RejectsEveryPrefix) {
  const std::string text = "f(a, b)[i] = Sum(k: a[2 * i + k, k] * tanh(b[k / 2]))";
  ASSERT_EQ(refusal(text), "accepted");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(refusal(text.substr(0, length)), "accepted") << length;
  }
}

}  // namespace
}  // namespace optile::placement::tofu
