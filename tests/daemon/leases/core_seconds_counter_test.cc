#include "daemon/leases/core_seconds_counter.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

TEST(CoreSecondsCounter, IntegratesLentCoresOverTime) {
  CoreSecondsCounter lent;
  EXPECT_EQ(lent.seconds(milliseconds(5000)), 0);
  lent.note(2, milliseconds(10000));
  EXPECT_DOUBLE_EQ(lent.seconds(milliseconds(10250)), 0.5);
  lent.note(1, milliseconds(10250));
  EXPECT_DOUBLE_EQ(lent.seconds(milliseconds(11250)), 1.5);
  lent.note(0, milliseconds(11250));
  EXPECT_DOUBLE_EQ(lent.seconds(milliseconds(99000)), 1.5);
}

}  // namespace
}  // namespace optile::daemon
