#include "daemon/leases/expected_arrivals.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr unsigned kUser = 1000;
constexpr unsigned kAnother = 1001;

TEST(ExpectedArrivalsTest, CountsShareUntilProgramArrives) {
  ExpectedArrivals expected;
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(0)), 0);
  expected.expect({"a", kUser}, 1, milliseconds(0));
  expected.expect({"b", kUser}, 2, milliseconds(10));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(20)), 3);
  expected.came({"a", kUser}, milliseconds(30));
  expected.came({"somebody else", kUser}, milliseconds(30));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(40)), 2);
}

TEST(ExpectedArrivalsTest, ShareBesideExcludesProgramItself) {
  ExpectedArrivals expected;
  expected.expect({"a", kUser}, 2, milliseconds(0));
  EXPECT_DOUBLE_EQ(expected.share_beside({"a", kUser}, milliseconds(1)), 0);
  EXPECT_DOUBLE_EQ(expected.share_beside({"b", kUser}, milliseconds(1)), 2);
  EXPECT_DOUBLE_EQ(expected.share_beside({"a", kAnother}, milliseconds(1)), 0);
  expected.expect({"a", kUser}, 2, milliseconds(2));
  EXPECT_DOUBLE_EQ(expected.share_beside({"a", kUser}, milliseconds(3)), 2)
      << "another of its kind";
}

// Its first question was heard and the answer came too late, so it asks as if it never had.
TEST(ExpectedArrivalsTest, RepeatedRequestOfOneLauncherCountsOnce) {
  ExpectedArrivals expected;
  expected.expect({"a", kUser, 7}, 1, milliseconds(0));
  EXPECT_DOUBLE_EQ(expected.share_beside({"a", kUser, 7}, milliseconds(1)), 0);
  EXPECT_DOUBLE_EQ(expected.share_beside({"a", kUser, 8}, milliseconds(1)), 1) << "another one";
  expected.expect({"a", kUser, 7}, 2, milliseconds(2));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(3)), 2);
  expected.expect({"a", kUser, 8}, 4, milliseconds(4));
  expected.came({"a", kUser, 8}, milliseconds(5));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(6)), 2) << "the one of that pid";
  expected.came({"a", kUser, 70}, milliseconds(7));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(8)), 0) << "a child of the other";
}

TEST(ExpectedArrivalsTest, ExpectationExpires) {
  ExpectedArrivals expected;
  expected.expect({"a", kUser}, 1, milliseconds(0));
  EXPECT_DOUBLE_EQ(expected.share(kUser, ExpectedArrivals::kPatience + milliseconds(1)), 0);
}

TEST(ExpectedArrivalsTest, RequestsOfOneUserDoNotAffectAnother) {
  ExpectedArrivals expected;
  expected.expect({"a", kUser}, 1, milliseconds(0));
  for (int i = 0; i < 5000; ++i) expected.expect({"b", kAnother}, 1000, milliseconds(1));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(2)), 1);
  expected.came({"a", kAnother}, milliseconds(3));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(4)), 1);
}

TEST(ExpectedArrivalsTest, LimitsExpectedArrivalsPerUser) {
  ExpectedArrivals expected;
  for (int i = 0; i < 5000; ++i) expected.expect({"a", kUser}, 1, milliseconds(1));
  EXPECT_DOUBLE_EQ(expected.share(kUser, milliseconds(2)),
                   static_cast<double>(ExpectedArrivals::kMost));
}

}  // namespace
}  // namespace optile::daemon
