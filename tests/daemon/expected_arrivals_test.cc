#include "daemon/expected_arrivals.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

ProgramKey program(const std::string& executable) {
  return {executable, executable, ""};
}

TEST(ExpectedArrivalsTest, WhoAskedIsExpectedUntilItComes) {
  ExpectedArrivals expected;
  EXPECT_DOUBLE_EQ(expected.share(milliseconds(0)), 0);
  expected.expect(program("a"), 1, milliseconds(0));
  expected.expect(program("b"), 2, milliseconds(10));
  EXPECT_DOUBLE_EQ(expected.share(milliseconds(20)), 3);
  expected.came(program("a"), milliseconds(30));
  expected.came(program("somebody else"), milliseconds(30));
  EXPECT_DOUBLE_EQ(expected.share(milliseconds(40)), 2);
}

TEST(ExpectedArrivalsTest, ButNotForEver) {
  ExpectedArrivals expected;
  expected.expect(program("a"), 1, milliseconds(0));
  EXPECT_DOUBLE_EQ(expected.share(ExpectedArrivals::kPatience + milliseconds(1)), 0);
}

TEST(ExpectedArrivalsTest, AStormIsBounded) {
  ExpectedArrivals expected;
  for (int i = 0; i < 5000; ++i) expected.expect(program("a"), 1, milliseconds(1));
  EXPECT_LE(expected.share(milliseconds(2)), 1024);
}

}  // namespace
}  // namespace optile::daemon
