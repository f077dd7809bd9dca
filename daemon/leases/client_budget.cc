#include "daemon/leases/client_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sched/leases/core_assignment.h"

namespace optile::daemon {
namespace {

using perfmodel::Budget;

Budget under_quota(Budget budget, double quota_cores) {
  budget.quota_cores = quota_cores;
  if (quota_cores <= 0) return budget;
  const int whole = std::max(1, static_cast<int>(std::ceil(quota_cores)));
  if (whole < budget.cores) {
    budget.cores = whole;
    budget.limited_by = "quota";
  }
  return budget;
}

}  // namespace

Budget budget_at_start(const perfmodel::Machine& machine, const Budget& ours, const Budget& now,
                       const std::vector<int>& units) {
  const Budget came_with = sched::within(machine, ours, units);
  const bool has_them = std::includes(now.units.begin(), now.units.end(), came_with.units.begin(),
                                      came_with.units.end());
  return has_them ? now : under_quota(came_with, now.quota_cores);
}

Budget remaining_budget(const perfmodel::Machine& machine, Budget at_attach, const Budget& now) {
  Budget its = std::move(at_attach);
  its.cores = std::max(1, static_cast<int>(sched::budget_cores(machine, its).size()));
  if (its.limited_by == "quota") its.limited_by.clear();
  its.cpuset = now.cpuset;
  Budget left = sched::within(machine, its, now.cpuset);
  if (!left.units.empty() && left.units != its.units) {
    left.limited_by = "cpuset";
    its = std::move(left);
  }
  return under_quota(std::move(its), now.quota_cores);
}

std::optional<std::vector<int>> bound_cores(const perfmodel::Machine& machine, const Budget& ours,
                                            const Budget& its) {
  const std::vector<int> all = sched::budget_cores(machine, ours);
  std::vector<int> cores = sched::budget_cores(machine, its);
  std::erase_if(cores, [&](int core) { return !std::binary_search(all.begin(), all.end(), core); });
  if (cores.empty()) return std::nullopt;
  return cores.size() == all.size() ? std::vector<int>() : cores;
}

Budget budget_within(const perfmodel::Machine& machine, const Budget& now,
                     const std::optional<GrantedLease>& lease) {
  if (!lease || lease->units.empty()) return now;
  Budget budget = sched::within(machine, now, lease->own_units);
  // Elsewhere altogether: it shares nothing with the others.
  if (budget.units.empty()) return now;
  budget.cores = std::clamp(lease->cores, 1, now.cores);
  return budget;
}

}  // namespace optile::daemon
