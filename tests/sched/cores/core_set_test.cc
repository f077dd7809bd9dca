// The sets of bits that decisions are made of, against plain sets and counters.
#include "sched/cores/core_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sched/cores/lane_table.h"
#include "sched/simulation/load_levels.h"

namespace optile::sched {
namespace {

int members_within(const std::set<int>& set, int first, int count) {
  return static_cast<int>(
      std::distance(set.lower_bound(first), set.lower_bound(first + std::max(count, 0))));
}

TEST(CoreSet, RangeOperationsMatchStdSet) {
  std::mt19937 random(1);
  CoreSet bits;
  std::set<int> plain;
  for (int i = 0; i < 2000; ++i) {
    const int first = static_cast<int>(random() % kMaxCores);
    const int count = static_cast<int>(random() % 200) % (kMaxCores - first + 1);
    const bool adding = i % 2 == 0;
    CoreSet gone;
    adding ? bits.add_range(first, count) : bits.move_range(first, count, &gone);
    for (int slot = first; slot < first + count; ++slot) {
      if (adding) {
        plain.insert(slot);
      } else {
        plain.erase(slot);
      }
    }
    ASSERT_EQ(bits.count(), static_cast<int>(plain.size()));
    const int from = static_cast<int>(random() % kMaxCores);
    const auto next = plain.lower_bound(from);
    ASSERT_EQ(bits.next(from), next == plain.end() ? -1 : *next);
    CoreSet range;
    range.add_range(first, count);
    ASSERT_EQ(bits.count_common(range), members_within(plain, first, count));
  }
}

TEST(CoreSet, HandlesFullAndEmptySets) {
  CoreSet set;
  EXPECT_EQ(set.next(0), -1);
  set.add_range(0, kMaxCores);
  EXPECT_EQ(set.count(), kMaxCores);
  EXPECT_EQ(set.next(kMaxCores - 1), kMaxCores - 1);
  EXPECT_EQ(set.next(kMaxCores), -1);
  CoreSet all;
  set.move_range(0, kMaxCores, &all);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(all.count(), kMaxCores);
}

// Sets that reach differently far, so that every operation meets a longer and a shorter one.
class CoreSetPair : public ::testing::Test {
 protected:
  void draw(CoreSet* bits, std::set<int>* plain) {
    *bits = {};
    plain->clear();
    const int reach = 1 + static_cast<int>(random_() % kMaxCores);
    for (int i = static_cast<int>(random_() % 30); i > 0; --i) {
      const int slot = static_cast<int>(random_()) % reach;
      bits->add(std::abs(slot));
      plain->insert(std::abs(slot));
    }
    if (random_() % 4 == 0 && !plain->empty()) {  // the highest is gone again
      bits->remove(*plain->rbegin());
      plain->erase(std::prev(plain->end()));
    }
  }
  static void expect_same(const CoreSet& bits, const std::set<int>& plain) {
    std::set<int> members;
    bits.each([&](int slot) { members.insert(slot); });
    EXPECT_EQ(members, plain);
    EXPECT_EQ(bits.count(), static_cast<int>(plain.size()));
    EXPECT_EQ(bits.empty(), plain.empty());
    CoreSet again;
    for (const int slot : plain) again.add(slot);
    EXPECT_TRUE(bits == again);
  }

  std::mt19937 random_{3};
};

TEST_F(CoreSetPair, SetAlgebraMatchesStdSet) {
  for (int i = 0; i < 500; ++i) {
    CoreSet a, b;
    std::set<int> x, y, both, either, rest;
    draw(&a, &x);
    draw(&b, &y);
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::inserter(both, both.end()));
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::inserter(either, either.end()));
    std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::inserter(rest, rest.end()));
    EXPECT_EQ(a.overlaps(b), !both.empty());
    EXPECT_EQ(a.contains(b), std::includes(x.begin(), x.end(), y.begin(), y.end()));
    EXPECT_EQ(a == b, x == y);
    CoreSet result = a;
    expect_same(result &= b, both);
    result = a;
    expect_same(result |= b, either);
    result = a;
    expect_same(result -= b, rest);
    EXPECT_EQ(a.count_common(b), static_cast<int>(both.size()));
    result = a;
    CoreSet known = b;
    result.add_leaving_known(&known);
    expect_same(result, either);
    expect_same(known, both);
    result = a;
    CoreSet other = b;
    result.cancel(&other);
    expect_same(result, rest);
    std::set<int> others;
    std::set_difference(y.begin(), y.end(), x.begin(), x.end(),
                        std::inserter(others, others.end()));
    expect_same(other, others);
  }
}

TEST_F(CoreSetPair, MoveOperationsMatchStdSet) {
  for (int i = 0; i < 1000; ++i) {
    CoreSet from, to;
    std::set<int> x, y;
    draw(&from, &x);
    draw(&to, &y);
    const int first = static_cast<int>(random_() % kMaxCores);
    const int count = static_cast<int>(random_() % 200) % (kMaxCores - first + 1);
    const bool range = i % 2 == 0;
    int most = range ? kMaxCores : static_cast<int>(random_() % 8);
    const int behind = range ? first + count : kMaxCores;
    range ? from.move_range(first, count, &to) : from.move_first(first, most, &to);
    while (most-- > 0 && x.lower_bound(first) != x.lower_bound(behind)) {
      y.insert(x.extract(x.lower_bound(first)));
    }
    expect_same(from, x);
    expect_same(to, y);
  }
}

TEST_F(CoreSetPair, EachGroupVisitsGroupsOncePerMachineWord) {
  // Groups of five: every few of them lie across two words.
  constexpr int kGroup = 5;
  constexpr int kWord = CoreSet::kWordSlots;
  std::vector<std::uint64_t> group_bits(kMaxCores, 0);
  for (int slot = 0; slot < kMaxCores; ++slot) {
    for (int other = 0; other < kMaxCores; ++other) {
      if (slot / kWord != other / kWord || slot / kGroup != other / kGroup) continue;
      group_bits[static_cast<std::size_t>(slot)] |= std::uint64_t{1} << (other % kWord);
    }
  }
  for (int i = 0; i < 200; ++i) {
    CoreSet bits;
    std::set<int> plain;
    draw(&bits, &plain);
    std::set<int> seen;
    std::set<std::pair<int, int>> visits;  // group and word
    bits.each_group(group_bits, [&](int slot, std::uint64_t members) {
      EXPECT_TRUE(visits.emplace(slot / kGroup, slot / kWord).second);
      EXPECT_EQ(count_bits(members), std::popcount(members));
      EXPECT_EQ(std::countr_zero(members), slot % kWord);
      for (; members != 0; members &= members - 1) {
        const int member = slot / kWord * kWord + std::countr_zero(members);
        EXPECT_EQ(member / kGroup, slot / kGroup);
        seen.insert(member);
      }
    });
    EXPECT_EQ(seen, plain);
  }
}

TEST(CoreSet, EachWhileStopsWhenCallbackReturnsFalse) {
  CoreSet set;
  for (const int slot : {3, 70, 71, 700}) set.add(slot);
  std::vector<int> seen;
  set.each_while([&](int slot) {
    seen.push_back(slot);
    return slot < 71;
  });
  EXPECT_EQ(seen, (std::vector<int>{3, 70, 71}));
}

TEST(LoadLevels, CountHoldersOfEachSlot) {
  std::mt19937 random(2);
  LoadLevels levels;
  std::vector<CoreSet> held;
  for (int i = 0; i < 400; ++i) {
    if (held.empty() || random() % 2 == 0) {
      CoreSet slots;
      slots.add_range(static_cast<int>(random() % 100), static_cast<int>(random() % 60) + 1);
      levels.add(slots);
      held.push_back(slots);
    } else {
      std::swap(held[random() % held.size()], held.back());
      levels.remove(held.back());
      held.pop_back();
    }
    CoreSet asked;
    asked.add_range(static_cast<int>(random() % 100), 30);
    int most = 0;
    int shared = 0;
    asked.each([&](int slot) {
      const auto holders = std::count_if(held.begin(), held.end(),
                                         [slot](const CoreSet& one) { return one.has(slot); });
      most = std::max(most, static_cast<int>(holders));
      shared += holders >= 2;
    });
    ASSERT_EQ(levels.most(asked), most);
    ASSERT_EQ(levels.shared(asked), shared);
    ASSERT_GE(levels.depth(), static_cast<std::size_t>(most));
  }
}

TEST(LaneTable, PrefersFirstFreeLaneOfWidthElseLastFreeLane) {
  const perfmodel::SwitchingCost cost;
  LaneTable lanes;
  for (const int width : {4, 8, 4, 2}) (void)lanes.take(width, cost);
  EXPECT_FALSE(lanes.has_free(4));
  for (const int lane : {0, 1, 2}) lanes.release(lane);
  EXPECT_TRUE(lanes.has_free(4));
  EXPECT_FALSE(lanes.has_free(2));  // its lane is busy
  const auto same = lanes.take(4, cost);
  EXPECT_EQ(same.lane, 0);
  EXPECT_EQ(same.cost.count(), 0);
  const auto other = lanes.take(16, cost);
  EXPECT_EQ(other.lane, 2);
  EXPECT_EQ(other.cost, cost.typical());
  EXPECT_FALSE(lanes.has_free(4));
  lanes.release(2);
  lanes.release(2);  // again: still one lane
  EXPECT_EQ(lanes.take(16, cost).lane, 2);
  EXPECT_FALSE(lanes.has_free(16));
  lanes.release_all();
  EXPECT_TRUE(lanes.has_free(4));
  EXPECT_TRUE(lanes.has_free(2));
}

}  // namespace
}  // namespace optile::sched
