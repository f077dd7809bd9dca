// The first wait on a clock of the test's own.
#include "bindings/preload/daemon_link/attach_wait.h"

#include <gtest/gtest.h>

namespace optile::preload {
namespace {

constexpr uint64_t kMillisecondNs = 1000000;
constexpr uint64_t kBegin = 77 * kMillisecondNs + 123456;

// Waits in vain; each slice ends so much later than it was to. How long it took altogether.
uint64_t waited(uint64_t connecting, uint64_t late) {
  FirstWait wait(kBegin);
  uint64_t now = kBegin + connecting;
  for (int slice = wait.next_ms(now); slice > 0; slice = wait.next_ms(now)) {
    now += static_cast<uint64_t>(slice) * kMillisecondNs + late;
  }
  return now - kBegin;
}

TEST(FirstWait, EndsAtItsTimeLimit) {
  EXPECT_EQ(waited(0, 0), FirstWait::kMostNs);
  EXPECT_LE(waited(300000, 60000), FirstWait::kMostNs + kMillisecondNs);
}

TEST(FirstWait, CountsTimeSpentConnecting) {
  FirstWait wait(kBegin);
  EXPECT_EQ(wait.next_ms(kBegin + 3 * kMillisecondNs), 4);
  EXPECT_EQ(wait.next_ms(kBegin + 7 * kMillisecondNs), 4);
  EXPECT_EQ(wait.next_ms(kBegin + 11 * kMillisecondNs), 4);
  EXPECT_EQ(wait.next_ms(kBegin + 15 * kMillisecondNs), 4);
  EXPECT_EQ(wait.next_ms(kBegin + 19 * kMillisecondNs), 1);
  EXPECT_EQ(wait.next_ms(kBegin + 20 * kMillisecondNs), 0);
}

TEST(FirstWait, EndsAfterLateSlice) {
  EXPECT_EQ(waited(0, FirstWait::kLateNs + 1), FirstWait::kSliceNs + FirstWait::kLateNs + 1);
  EXPECT_EQ(waited(FirstWait::kLateNs + 1, 0), FirstWait::kLateNs + 1) << "connecting is one";
}

// Whatever a slice takes: the wait is over one slice's lateness after its most, never more.
// fault: F13
TEST(FirstWait, OverrunsByAtMostOneLateSlice) {
  for (uint64_t late = 0; late < 40 * kMillisecondNs; late += 70000) {
    EXPECT_LE(waited(0, late), FirstWait::kMostNs + kMillisecondNs + late) << late;
    if (late <= FirstWait::kLateNs) continue;
    EXPECT_EQ(waited(0, late), FirstWait::kSliceNs + late) << late;
  }
}

// Signals interrupt slices.
TEST(FirstWait, InterruptionsNeitherProlongNorEndWait) {
  FirstWait wait(kBegin);
  int slices = 0;
  uint64_t now = kBegin;
  for (; wait.next_ms(now) > 0; ++slices) now += 100000;
  EXPECT_EQ(slices, 200);
  EXPECT_EQ(now - kBegin, FirstWait::kMostNs);
}

TEST(FirstWait, StaysOverOnceEnded) {
  FirstWait wait(kBegin);
  EXPECT_EQ(wait.next_ms(kBegin + FirstWait::kLateNs + 1), 0);
  EXPECT_EQ(wait.next_ms(kBegin), 0);
}

}  // namespace
}  // namespace optile::preload
