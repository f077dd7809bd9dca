// Whose cores are kept after a restart: told as they come, as if all were looked at each time.
#include "daemon/process/restart_reservations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr int kUnits = 6;

int at_random(std::mt19937& random, int most) {
  return std::uniform_int_distribution<int>(0, most)(random);
}

std::vector<HeldProcess> some_processes(std::mt19937& random) {
  std::vector<HeldProcess> all;
  for (int pid = 100 + at_random(random, 7); pid >= 100; --pid) {
    HeldProcess one{pid, {}};
    for (int unit = 0; unit < kUnits; ++unit) {
      if (at_random(random, 2) == 0) one.units.push_back(unit);
    }
    all.push_back(std::move(one));
  }
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

// By its words: units of those to come, without those of who is back and had nothing else.
std::set<int> kept(const std::vector<HeldProcess>& held, const std::set<int>& attached) {
  std::set<int> awaited;
  for (const HeldProcess& one : held) {
    if (!attached.contains(one.pid)) awaited.insert(one.units.begin(), one.units.end());
  }
  std::set<int> left = awaited;
  for (const HeldProcess& one : held) {
    const bool nothing_else = std::all_of(one.units.begin(), one.units.end(),
                                          [&](int unit) { return awaited.contains(unit); });
    if (!attached.contains(one.pid) || !nothing_else) continue;
    for (const int unit : one.units) left.erase(unit);
  }
  return left;
}

TEST(RestartReservations, IncrementalUpdatesMatchFullRecomputation) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<HeldProcess> held = some_processes(random);
    RestartReservations returning([&] { return held; }, milliseconds(0));
    std::set<int> attached;
    returning.look(attached, milliseconds(1));
    ASSERT_EQ(returning.units(), kept(held, attached));
    for (const HeldProcess& one : held) {
      const std::set<int> before = returning.units();
      attached.insert(one.pid);
      const bool changed = returning.came(one.pid);
      ASSERT_EQ(returning.units(), kept(held, attached));
      ASSERT_TRUE(changed || returning.units() == before);
      ASSERT_FALSE(returning.came(one.pid)) << "it has come already";
    }
    ASSERT_FALSE(returning.keeps_some());
    ASSERT_FALSE(returning.due(milliseconds(5000)));
  }
}

TEST(RestartReservations, UnknownProcessChangesNothing) {
  RestartReservations returning(
      [] {
        return std::vector<HeldProcess>{{101, {0, 1}}};
      },
      milliseconds(0));
  returning.look({}, milliseconds(1));
  EXPECT_FALSE(returning.came(7));
  EXPECT_EQ(returning.units(), (std::set<int>{0, 1}));
}

}  // namespace
}  // namespace optile::daemon
