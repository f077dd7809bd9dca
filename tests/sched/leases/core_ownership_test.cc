#include "sched/leases/core_ownership.h"

#include <gtest/gtest.h>

#include <vector>

namespace optile::sched {
namespace {

// Turns of one core come and go in another order than they came, many times.
TEST(CoreOwnership, ReturnedFractionsLeaveExactlyZeroUsed) {
  constexpr ClientId kClients = 1000;
  constexpr int kRounds = 20;
  CoreOwnership ledger(1);
  for (int round = 1; round <= kRounds; ++round) {
    const double each = 1.0 / (static_cast<double>(kClients) + round);
    std::vector<uint64_t> sent(kClients + 1);
    for (ClientId id = 1; id <= kClients; ++id) ledger.add(id);
    for (ClientId id = 1; id <= kClients; ++id) {
      ASSERT_TRUE(ledger.fits(id, {{0}, each}));
      sent[id] = ledger.send(id, {{0}, each}, 0);
    }
    EXPECT_NEAR(ledger.used(0), each * kClients, kSameFraction);
    EXPECT_NEAR(ledger.room(1, 0), 1.0 - each * (kClients - 1), kSameFraction);
    for (ClientId id = kClients; id >= 1; --id) EXPECT_TRUE(ledger.confirm(id, sent[id]));
    for (ClientId id = 1; id <= kClients; ++id) ledger.remove(id);
    EXPECT_EQ(ledger.used(0), 0.0);
  }
  ledger.add(1);
  ledger.send(1, {{0}, 1.0}, 0);
  EXPECT_FALSE(ledger.fits(2, {{0}, 1e-6}));
  EXPECT_EQ(ledger.room(1, 0), 1.0);
}

}  // namespace
}  // namespace optile::sched
