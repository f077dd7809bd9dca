// What a session does while cores of a neighbour that waits are lent to the program. Owned by the
// session; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "tuner/session/client_environment.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

class LentCores {
 public:
  explicit LentCores(const ClientEnvironment& environment) : environment_(environment) {}

  // `plan`: for so many cores, in force meanwhile. True: that is news.
  bool set(bool lent, std::optional<StoredPlan> plan);
  void drop_plan() { plan_.reset(); }
  // Its op stays at the program's default width, also while cores are lent.
  void undo(uint64_t key) { undone_ops_.insert(key); }

  bool lent() const { return lent_; }
  bool has_plan() const { return plan_.has_value(); }
  // It is about that step, and sets nothing but widths.
  bool serves(const StoredPlan& plan, const StepModel& step) const;
  // As wide as that plan has them. None has a time to be held against: a neighbour that wakes makes
  // every op slower for a moment.
  void add_to(PlanDraft& draft) const;

 private:
  const ClientEnvironment& environment_;
  bool lent_ = false;
  std::optional<StoredPlan> plan_;
  std::set<uint64_t> undone_ops_;
};

}  // namespace optile::tuner
