// What is known about pairs of ops, against looking at every op that runs.
#include "sched/strategies/interference_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace optile::sched {
namespace {

TEST(InterferenceMemory, ReportsWhetherKnownInterferingOpRuns) {
  constexpr int kInstances = 12;
  std::mt19937 random(5);
  const auto any = [&] { return static_cast<int>(random() % kInstances); };
  InterferenceMemory memory(kInstances);
  std::vector<int> running;  // instances, some of them more than once
  for (int i = 0; i < 3000; ++i) {
    const auto what = random() % 100;
    if (what < 50) {
      running.push_back(any());
      memory.started(running.back());
    } else if (what < 90 && !running.empty()) {
      const auto gone = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
      memory.ended(*gone);
      running.erase(gone);
    } else if (what < 91) {
      memory.nothing_runs();
      running.clear();
    } else if (memory.pairs() < 20) {
      const int one = any();
      memory.record(one, random() % 5 == 0 ? one : any());
    }
    for (int instance = 0; instance < kInstances; ++instance) {
      const bool foe = std::any_of(running.begin(), running.end(),
                                   [&](int other) { return memory.known(instance, other); });
      ASSERT_EQ(memory.beside_foe(instance), foe) << "after " << i << ", instance " << instance;
    }
  }
  EXPECT_GE(memory.pairs(), 15u);
}

}  // namespace
}  // namespace optile::sched
