// A lease table whose messages the test carries.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "sched/leases/lease_table.h"
#include "tests/sched/leases/curves.h"
#include "tests/sched/leases/lease_commands.h"
#include "tests/sched/simulation/machines.h"

namespace optile::sched {

using Cores = std::vector<int>;

const std::vector<double> kConcave = {0.4, 0.7, 0.9, 1.0};

// A table whose clients confirm when they are told to.
class LeaseTableTest : public ::testing::Test {
 protected:
  LeaseTableTest() { use(machines::kOneTile); }

  void use(const std::string& description, const LeaseSettings& settings = {}) {
    const perfmodel::Machine m = machines::machine(description);
    table_ = std::make_unique<LeaseTable>(m, machines::whole(m), settings);
  }

  void arrive(ClientId id, std::vector<double> progress = {}) {
    ASSERT_TRUE(table_->arrive(id, 1.0, Priority::kNormal).ok());
    if (!progress.empty()) {
      ASSERT_TRUE(
          table_->update(id, {.curve = LeaseUpdate::Curve{std::move(progress), 1, kNoLimit}}).ok());
    }
  }

  // Two that share the cores evenly.
  void arrive_both() {
    arrive(1, kConcave);
    arrive(2, kConcave);
    settle();
  }
  void set_activity(ClientId id, Activity activity) {
    ASSERT_TRUE(table_->update(id, {.activity = activity}).ok());
  }

  std::vector<LeaseChange> decide() { return table_->decide(++tick_); }
  void confirm(const LeaseChange& change) {
    EXPECT_TRUE(table_->confirm(change.id, change.sequence).ok());
  }
  // Until nothing more is to be said; the number of changes.
  int settle() {
    int changes = 0;
    for (auto sent = decide(); !sent.empty(); sent = decide()) {
      for (const LeaseChange& change : sent) confirm(change);
      changes += static_cast<int>(sent.size());
    }
    return changes;
  }
  LeaseView view(ClientId id) const {
    for (const LeaseView& one : table_->view()) {
      if (one.id == id) return one;
    }
    ADD_FAILURE() << "no client " << id;
    return {};
  }
  Cores cores(ClientId id) const { return view(id).granted.cores; }

  std::unique_ptr<LeaseTable> table_;
  uint64_t tick_ = 0;
};

const std::vector<double> kLinear = {0.25, 0.5, 0.75, 1.0};

}  // namespace optile::sched
