// What is remembered about situations, against a plain map.
#include "sched/strategies/decision_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>

namespace optile::sched {
namespace {

TEST(DecisionMemory, MatchesStdMapAcrossForgetAll) {
  constexpr std::size_t kMost = 500;
  std::mt19937_64 random(9);
  DecisionMemory<int> memory(kMost);
  std::map<std::uint64_t, int> plain;
  std::size_t largest = 0;
  for (int i = 0; i < 20000; ++i) {
    // Few numbers with few low bits: the same situations again, and many in one place.
    const std::uint64_t situation = (random() % 50) << 60U | (random() % 40);
    if (random() % 3000 == 0) {
      memory.forget_all();
      plain.clear();
    }
    const int* known = memory.find(situation);
    const auto found = plain.find(situation);
    ASSERT_EQ(known != nullptr, found != plain.end());
    if (known != nullptr) {
      ASSERT_EQ(*known, found->second);
    }
    if (random() % 2 == 0) {
      memory.remember(situation, i);
      if (plain.size() < kMost) plain[situation] = i;
    }
    ASSERT_EQ(memory.size(), plain.size());
    largest = std::max(largest, plain.size());
  }
  EXPECT_GT(largest, 300u);
}

TEST(DecisionMemory, KeepsAtMostItsCapacity) {
  DecisionMemory<int> memory(3);
  for (std::uint64_t i = 0; i < 10; ++i) memory.remember(i * 64, 1);
  EXPECT_EQ(memory.size(), 3u);
  EXPECT_NE(memory.find(128), nullptr);
  EXPECT_EQ(memory.find(192), nullptr);
  memory.forget_all();
  EXPECT_EQ(memory.find(128), nullptr);
  memory.remember(640, 2);
  EXPECT_EQ(*memory.find(640), 2);
}

}  // namespace
}  // namespace optile::sched
