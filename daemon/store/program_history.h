// What earlier runs of programs have left in the stores of their users, and what those of now leave
// there. Owned by the controller; the daemon's one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/earlier_curve.h"
#include "daemon/store/store.h"
#include "daemon/store/store_batches.h"
#include "perfmodel/profile/launch_plan.h"

namespace optile::daemon {

class ProgramHistory {
 public:
  struct Dependencies {
    std::string machine;     // its fingerprint
    Store* store = nullptr;  // outlives this
    // Of each of several users; null: nothing is kept for that number. Without it there is one.
    std::function<Store*(unsigned uid)> store_of;
    std::function<uint64_t()> monotonic_ns;
    std::function<int64_t()> unix_seconds;
  };
  explicit ProgramHistory(Dependencies dependencies);

  bool has_users() const { return dependencies_.store_of != nullptr; }  // several
  Store& store() const { return *dependencies_.store; }
  Store* store_of(unsigned uid) const;
  Store* store_to_read(unsigned uid);  // with what those who departed have left
  StoreBatches& batches() { return batches_; }
  const StoreBatches& batches() const { return batches_; }
  int64_t unix_seconds() const { return dependencies_.unix_seconds(); }
  Conditions on_this_machine(Conditions conditions) const;

  perfmodel::LaunchPlan launch_plan(const perfmodel::LaunchFacts& facts, const ProgramKey& program,
                                    unsigned uid = 0);
  std::optional<FoundPlan> stored_plan(  // that an earlier run found under that launch plan
      const ProgramKey& program, const std::string& launch_plan, unsigned uid = 0);
  std::vector<RunRecord> earlier_runs(const ProgramKey& program, unsigned uid);  // newest first
  // Whether an earlier run spent most of its steps in ops that follow their lease.
  std::optional<bool> was_steered(const ProgramKey& program, unsigned uid);
  // What earlier runs of it took with so many cores, and gained from lent ones, as far as that is
  // still believed.
  std::optional<EarlierCurve> find_curve(Conditions conditions, unsigned uid) const;
  std::vector<LendingRecord> find_lending(const std::string& program, unsigned uid) const;

 private:
  Dependencies dependencies_;
  StoreBatches batches_;
};

}  // namespace optile::daemon
