// What is a crowd, and when each of it comes.
#include "bindings/preload/daemon_link/runqueue_pressure.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace optile::preload {
namespace {

constexpr uint64_t kMs = 1000000;

bool is_crowd(uint32_t runnable, uint32_t processors) {
  return RunqueuePressure{runnable, processors}.is_one();
}

TEST(RunqueuePressure, ReadsRunnableCountFromLoadavg) {
  EXPECT_EQ(runnable_in("0.75 2.59 2.14 3/102 23418\n"), 3U);
  EXPECT_EQ(runnable_in("412.75 52.59 2.14 1024/2102 23418\n"), 1024U);
  EXPECT_EQ(runnable_in("0.00 0.00 0.00 99999999999999/1 1"), 0U) << "what cannot be";
}

TEST(RunqueuePressure, MalformedLoadavgReadsAsZero) {
  for (const char* text : {"", " ", "0.75", "0.75 2.59 2.14", "0.75 2.59 2.14 ", "a b c d/e",
                           "0.75 2.59 2.14 3", "0.75 2.59 2.14 /5"}) {
    EXPECT_EQ(runnable_in(text), 0U) << text;
    EXPECT_FALSE(is_crowd(runnable_in(text), 1)) << text;
  }
}

TEST(RunqueuePressure, CountsProcessorsInCpuList) {
  EXPECT_EQ(processors_in("0-1\n"), 2U);
  EXPECT_EQ(processors_in("0\n"), 1U);
  EXPECT_EQ(processors_in("0-3,8,10-11\n"), 7U);
  EXPECT_EQ(processors_in("0-511"), 512U);
  for (const char* text : {"", "\n", "x", "3-1\n", "0-1;2\n"}) {
    EXPECT_EQ(processors_in(text), 0U) << text;
  }
}

// fault: F13
TEST(RunqueuePressure, BeginsAboveEightThreadsPerProcessor) {
  EXPECT_FALSE(is_crowd(1, 1));
  EXPECT_FALSE(is_crowd(4 * 64, 64));
  EXPECT_FALSE(is_crowd(8 * 2, 2));
  EXPECT_TRUE(is_crowd(8 * 2 + 1, 2));
  EXPECT_TRUE(is_crowd(1000, 64));
  EXPECT_FALSE(is_crowd(1000, UINT32_MAX)) << "no sum that overflows";
}

// Whoever comes alone could be attached at once; a thousand take half a second.
// fault: F13
TEST(RunqueuePressure, SpreadsDelayOverTimeAllThreadsNeed) {
  for (const uint32_t runnable : {1U, 17U, 100U, 1000U, 2000U, 5000U, 1000000U}) {
    const uint64_t all =
        std::min(runnable * RunqueuePressure::kTurnNs, RunqueuePressure::kLongestNs);
    const RunqueuePressure crowd = {runnable, 2};
    uint64_t latest = 0;
    for (uint64_t random = 1; random < 2000 * kMs; random += kMs / 3) {
      latest = std::max(latest, crowd.put_off_ns(random));
    }
    EXPECT_LE(latest, all) << runnable;
    EXPECT_GE(latest, all - all / 10) << runnable;
  }
}

}  // namespace
}  // namespace optile::preload
