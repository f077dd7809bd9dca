// Leases on four described cores, with masks and load that the test keeps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "daemon/case_set.h"
#include "daemon/leases.h"

namespace optile::daemon {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kStart{1000};

class LeasesTest : public testing::Test {
 protected:
  LeasesTest()
      : machine_(perfmodel::make_machine_source("pack:1 l2:1 core:4 pu:1")->read().value()),
        leases_(machine_, whole_budget(machine_),
                {[this](uint64_t client, int pid, const std::vector<int>& units) {
                   EXPECT_EQ(pid, static_cast<int>(client) + 100);
                   confine(client, units);
                 },
                 [this](const std::vector<int>&) { return load_; }}) {
    for (int unit = 0; unit < 4; ++unit) load_.units[unit] = {};
  }

  // A second passes in which others keep so many cores busy, and clients none.
  void second_with(double busy, milliseconds& now) {
    for (auto& [unit, ticks] : load_.units) {
      ticks.busy += static_cast<uint64_t>(busy * 25);
      ticks.idle += 100 - static_cast<uint64_t>(busy * 25);
    }
    now += seconds(1);
    leases_.set_budget(whole_budget(machine_), now);
    decide(now);
  }

  // As the kernel would have it; nobody is ever let onto a core that somebody else is held to.
  void confine(uint64_t client, const std::vector<int>& units) {
    masks_[client] = {units.begin(), units.end()};
    for (const auto& [other, mask] : masks_) {
      if (other == client || in_turns_ || lent_out_.contains(other)) continue;
      for (int unit : units) EXPECT_FALSE(mask.contains(unit)) << client << " and " << other;
    }
  }
  void arrive(uint64_t client) { leases_.arrive(client, static_cast<int>(client) + 100, 4); }
  // Everybody's, as far as it was ever told.
  void decide(milliseconds now) {
    for (const Leases::Granted& one : leases_.decide(now)) granted_[one.client] = one;
  }
  int cores(uint64_t client) { return granted_.at(client).cores; }
  void scales(uint64_t client, bool settled = true, double measured = 0) {
    leases_.demand(client, {4, 2, 4.0 / 3, 1}, measured, settled);
  }
  void stays_flat(uint64_t client, bool settled = true) {
    leases_.demand(client, {1, 0.99, 0.98, 0.98}, 0, settled);
  }

  perfmodel::Machine machine_;
  LoadReading load_;
  bool in_turns_ = false;        // cores are shared
  std::set<uint64_t> lent_out_;  // whose masks do not count: it waits
  std::map<uint64_t, std::set<int>> masks_;
  std::map<uint64_t, Leases::Granted> granted_;
  Leases leases_;
};

}  // namespace optile::daemon
