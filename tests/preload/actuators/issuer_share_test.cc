// How threads that are inside ops at the same time divide the cores: the rules on their own, then
// the one word that they share.
#include "bindings/preload/actuators/issuer_share.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace optile::preload {
namespace {

constexpr uint32_t kCores = 4;
constexpr int kSettling = 32;  // ops after which a mean has settled

TEST(FairPart, PartsAddUpToCoresWithAtLeastOneEach) {
  for (uint32_t cores = 1; cores <= 17; ++cores) {
    for (uint32_t sharers = 1; sharers <= 20; ++sharers) {
      uint32_t sum = 0;
      for (uint32_t before = 0; before < sharers; ++before) {
        const uint32_t part = fair_part(cores, sharers, before);
        EXPECT_GE(part, 1u);
        sum += part;
      }
      const uint32_t all = cores > sharers ? cores : sharers;
      EXPECT_EQ(sum, sharers == 1 ? cores : all);
    }
  }
  EXPECT_EQ(fair_part(kCores, 1, 0), kCores);
}

TEST(SharerCount, IsOneForThreadNeverBesideOthers) {
  IssuerPart part;
  for (int i = 0; i < 1000; ++i) note_co_runners(&part, 0);
  EXPECT_EQ(part.sharers, 1u);
}

TEST(SharerCount, CountsOthersWhileMostlyPresent) {
  for (const uint32_t others : {1u, 2u, 5u, 40u}) {
    IssuerPart part;
    for (int i = 0; i < 2 * kSettling; ++i) note_co_runners(&part, others * kOneOther);
    EXPECT_EQ(part.sharers, others + 1);
    for (int i = 0; i < 3 * kSettling; ++i) note_co_runners(&part, 0);
    EXPECT_EQ(part.sharers, 1u) << others;
  }
}

// A thread that loads data beside the one that computes.
TEST(SharerCount, IgnoresThreadPresentForOneTenth) {
  IssuerPart part;
  for (int i = 0; i < 1000; ++i) note_co_runners(&part, i % 3 == 0 ? kOneOther * 3 / 10 : 0);
  EXPECT_EQ(part.sharers, 1u);
}

TEST(SharerCount, StaysUnchangedBetweenThresholds) {
  IssuerPart part;
  for (int i = 0; i < kSettling; ++i) note_co_runners(&part, kOneOther * 4 / 10);
  EXPECT_EQ(part.sharers, 1u);
  for (int i = 0; i < kSettling; ++i) note_co_runners(&part, kOneOther * 9 / 10);
  EXPECT_EQ(part.sharers, 2u);
  for (int i = 0; i < kSettling; ++i) note_co_runners(&part, kOneOther * 4 / 10);
  EXPECT_EQ(part.sharers, 2u);
}

TEST(IssuerLimit, NarrowsAtOnceAndWidensWithPatience) {
  IssuerPart part;
  EXPECT_EQ(settle_limit(&part, 8), 8u);
  EXPECT_EQ(settle_limit(&part, 3), 3u);
  for (uint32_t i = 1; i < kPatience; ++i) EXPECT_EQ(settle_limit(&part, 8), 3u);
  EXPECT_EQ(settle_limit(&part, 8), 8u);
}

TEST(IssuerLimit, LimitOfOneIsNotRemembered) {
  IssuerPart part;
  EXPECT_EQ(settle_limit(&part, 4), 4u);
  EXPECT_EQ(settle_limit(&part, 1), 1u);
  EXPECT_EQ(settle_limit(&part, 0), 1u);
  EXPECT_EQ(settle_limit(&part, 4), 4u);
}

// ---- the word ----------------------------------------------------------------------------------

uint32_t enter(uint32_t slot, IssuerPart* part, uint32_t width, uint32_t cores) {
  return enter_op(slot, part, width, cores, 100);
}
bool leave(uint32_t slot, IssuerPart* part) {
  return leave_op(slot, part, 100);
}

TEST(IssuerShare, SecondThreadTakesRemainingCores) {
  IssuerPart first;
  IssuerPart second;
  EXPECT_EQ(enter(0, &first, 3, kCores), 3u);
  EXPECT_EQ(enter(1, &second, 4, kCores), 1u);
  EXPECT_TRUE(leave(1, &second));
  EXPECT_TRUE(leave(0, &first)) << "another one was inside meanwhile, and is gone again";
  EXPECT_EQ(enter(0, &first, 4, kCores), 4u);
  EXPECT_FALSE(leave(0, &first));
  EXPECT_GE(most_in_ops(), 2u);
}

TEST(IssuerShare, ExemptOpsStillCountAgainstCores) {
  IssuerPart first;
  IssuerPart second;
  EXPECT_EQ(enter(0, &first, 4, 0), 4u);
  EXPECT_EQ(enter(1, &second, 4, 0), 4u);
  IssuerPart third;
  EXPECT_EQ(enter(2, &third, 4, kCores), 1u);
  leave(0, &first);
  leave(1, &second);
  leave(2, &third);
}

TEST(IssuerShare, NeverExceedsRequestedWidth) {
  IssuerPart part;
  EXPECT_EQ(enter(0, &part, 2, 64), 2u);
  leave(0, &part);
  EXPECT_EQ(enter(0, &part, 0, 64), 0u);
  leave(0, &part);
}

TEST(IssuerShare, ForgottenThreadReturnsItsCores) {
  IssuerPart dead;
  IssuerPart other;
  enter(5, &dead, 4, kCores);
  EXPECT_EQ(enter(1, &other, 4, kCores), 1u);
  leave(1, &other);
  forget_issuer(5, &dead);
  forget_issuer(5, &dead);
  EXPECT_EQ(enter(1, &other, 4, kCores), 4u);
  EXPECT_FALSE(leave(1, &other));
}

TEST(IssuerShare, UnendedOpIsReplacedByNextOp) {
  IssuerPart part;
  IssuerPart other;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(enter(3, &part, 4, kCores), 4u);
  leave(3, &part);
  EXPECT_EQ(enter(1, &other, 4, kCores), 4u);
  leave(1, &other);
}

TEST(IssuerShare, ThreadsBeyondSlotLimitAreNotNarrowed) {
  IssuerPart part;
  EXPECT_EQ(enter(kMostIssuing, &part, 4, 1), 4u);
  EXPECT_FALSE(leave(kMostIssuing, &part));
}

// An op of 100 beside two that are there for 60 and for 20 of it, one of them in two pieces.
TEST(IssuerShare, AveragesOtherThreadsOverOpDuration) {
  IssuerPart mine;
  IssuerPart second;
  IssuerPart third;
  for (uint64_t at = 1000; at < 1000 + 200 * kSettling; at += 200) {
    enter_op(1, &second, 1, kCores, at);
    enter_op(0, &mine, 1, kCores, at + 10);
    leave_op(1, &second, at + 40);
    enter_op(2, &third, 1, kCores, at + 50);
    leave_op(2, &third, at + 70);
    enter_op(1, &second, 1, kCores, at + 80);
    leave_op(0, &mine, at + 110);
    leave_op(1, &second, at + 120);
  }
  EXPECT_NEAR(mine.co_runners, kOneOther * 0.8, 8);
  EXPECT_EQ(mine.sharers, 2u);
  EXPECT_NEAR(third.co_runners, kOneOther, 8);
}

// All are inside at the same moment, in every round. From some round on the widths in force add up
// to the cores, or everybody has one.
void share_in_rounds(uint32_t threads, uint32_t cores) {
  std::barrier<> together(threads);
  std::atomic<uint32_t> sum{0};
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> running;
  for (uint32_t slot = 0; slot < threads; ++slot) {
    running.emplace_back([&, slot] {
      IssuerPart part;
      for (int round = 0; round < 4 * kSettling; ++round) {
        const auto now = static_cast<uint64_t>(round) * 1000 + slot;
        const uint32_t width = enter_op(slot, &part, cores, cores, now);
        sum += width;
        together.arrive_and_wait();
        const uint32_t all = sum;
        const bool settled = round >= 3 * kSettling;
        if (width < 1 || (settled && all > (threads < cores ? cores : threads))) ++wrong;
        if (settled && cores % threads == 0 && all < cores) ++wrong;
        together.arrive_and_wait();
        sum -= width;
        leave_op(slot, &part, now + 900);
        together.arrive_and_wait();
      }
    });
  }
  for (std::thread& one : running) one.join();
  EXPECT_EQ(wrong, 0u) << threads << " threads on " << cores << " cores";
}

TEST(IssuerShare, SimultaneousOpsSettleWithinCores) {
  share_in_rounds(2, 4);
  share_in_rounds(3, 4);
  share_in_rounds(4, 4);
  share_in_rounds(8, 4);
  share_in_rounds(3, 16);
}

// Whatever the order: more than one thread is taken only where it is free.
// fault: F27
TEST(IssuerShare, ExceedsCoresOnlyByOneThreadPerOp) {
  constexpr uint32_t kThreads = 6;
  std::atomic<int> in_force{0};
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> running;
  for (uint32_t slot = 0; slot < kThreads; ++slot) {
    running.emplace_back([&, slot] {
      IssuerPart part;
      for (int round = 0; round < 20000; ++round) {
        const auto width = static_cast<int>(enter(slot, &part, kCores, kCores));
        if ((in_force += width) > static_cast<int>(kCores + kThreads - 1)) ++wrong;
        in_force -= width;
        leave(slot, &part);
      }
    });
  }
  for (std::thread& one : running) one.join();
  EXPECT_EQ(wrong, 0u);
  IssuerPart part;
  EXPECT_EQ(enter(0, &part, kCores, kCores), kCores) << "nothing is left behind";
  leave(0, &part);
}

}  // namespace
}  // namespace optile::preload
