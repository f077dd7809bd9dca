#include "daemon/cluster/local_plans.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

base::Error conflict(const std::string& message) {
  return {base::ErrorKind::kUnavailable, message};
}

}  // namespace

base::Status LocalPlans::take(JobPlan plan, const PlanSource& source, Time now) {
  const auto same_job = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
    return one.source.pid == source.pid && one.source.uid == source.uid && one.plan.job == plan.job;
  });
  if (same_job == kept_.end()) {
    const auto of_user = std::count_if(
        kept_.begin(), kept_.end(), [&](const Kept& one) { return one.source.uid == source.uid; });
    if (kept_.size() >= kMaxLocalPlans ||
        static_cast<std::size_t>(of_user) >= kMaxLocalPlansOfUser) {
      return conflict("there are too many jobs on this machine to keep the plan of another one");
    }
    kept_.push_back({std::move(plan), source, now});
    return {};
  }
  const bool same_run = same_job->plan.run == plan.run;
  if (same_run && same_job->plan.version() > plan.version()) {
    return conflict("a later plan of this run is known already");
  }
  *same_job = {std::move(plan), source, now};
  return {};
}

void LocalPlans::forget(int pid) {
  std::erase_if(kept_, [&](const Kept& one) { return one.source.pid == pid; });
}

std::vector<OwnPlan> LocalPlans::own() const {
  std::vector<OwnPlan> plans;
  for (const Kept& one : kept_) plans.push_back({one.source.uid, one.plan});
  return plans;
}

}  // namespace optile::daemon
