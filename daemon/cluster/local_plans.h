// The plans that jobs on this machine have told. One for each job of a process, kept as long as
// that lives. Pure; one thread.
#pragma once

#include <chrono>
#include <vector>

#include "base/result.h"
#include "daemon/cluster/job_plan.h"
#include "daemon/cluster/job_plans.h"

namespace optile::daemon {

// Of all users together, and of one.
inline constexpr std::size_t kMaxLocalPlans = 64;
inline constexpr std::size_t kMaxLocalPlansOfUser = 8;

// The process that told a plan, as the kernel has it.
struct PlanSource {
  unsigned uid = 0;
  int pid = 0;
};

class LocalPlans {
 public:
  using Time = std::chrono::nanoseconds;  // monotonic

  // Takes the place of the one before. kUnavailable: that one is later, or there are too many.
  base::Status take(JobPlan plan, const PlanSource& source, Time now);
  // What this process told is gone.
  void forget(int pid);

  struct Kept {
    JobPlan plan;
    PlanSource source;
    Time told{0};
  };
  const std::vector<Kept>& all() const { return kept_; }
  // As other nodes are told.
  std::vector<OwnPlan> own() const;

 private:
  std::vector<Kept> kept_;
};

}  // namespace optile::daemon
