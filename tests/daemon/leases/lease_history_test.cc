#include "daemon/leases/lease_history.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

TEST(LeaseHistory, DropsOldestEventsBeyondLimit) {
  LeaseHistory history;
  for (int64_t i = 0; i < 100; ++i) history.note({i, 1, "change " + std::to_string(i)});
  ASSERT_EQ(history.newest_first().size(), kMaxLeaseEvents);
  EXPECT_EQ(history.newest_first().front().text, "change 99");
  EXPECT_EQ(history.newest_first().back().text, "change 68");
}

TEST(LeaseHistory, LoansDoNotDisplaceOtherEvents) {
  LeaseHistory history;
  history.note({1, 1, "arrived"});
  for (int64_t i = 0; i < 100; ++i) history.note({i, 2, "lent " + std::to_string(i), true});
  ASSERT_EQ(history.newest_first().size(), 9u);
  EXPECT_EQ(history.newest_first().front().text, "lent 99");
  EXPECT_EQ(history.newest_first()[7].text, "lent 92");
  EXPECT_EQ(history.newest_first().back().text, "arrived");
}

}  // namespace
}  // namespace optile::daemon
