#include "daemon/client/configuration_space.h"

#include <algorithm>
#include <map>

#include "sched/cores/binding_order.h"

namespace optile::daemon {

using perfmodel::Binding;

namespace {

// Of the budget's cores: the fewest units that it has of one.
int hardware_threads_of(const perfmodel::Machine& machine, const perfmodel::Budget& budget) {
  std::map<int, int> units_of;
  for (const perfmodel::ProcessingUnit& unit : machine.units) {
    const bool is_ours =
        std::find(budget.units.begin(), budget.units.end(), unit.os_index) != budget.units.end();
    if (is_ours) ++units_of[unit.core];
  }
  int fewest = 0;
  for (const auto& [core, units] : units_of) fewest = fewest == 0 ? units : std::min(fewest, units);
  return std::max(1, fewest);
}

}  // namespace

ConfigurationSpace make_configuration_space(const perfmodel::Machine& machine,
                                            const perfmodel::Budget& budget) {
  ConfigurationSpace set;
  set.cores = std::max(1, budget.cores);
  set.hardware_threads = hardware_threads_of(machine, budget);
  for (const Binding binding : {Binding::kNone, Binding::kCompact, Binding::kSpread}) {
    for (const int width : sched::admitted_widths(machine, budget, binding)) {
      set.cases.push_back({width, binding});
    }
  }
  set.unbound = perfmodel::unbound_cases(set.cores);
  if (set.cases.empty()) set.cases = set.unbound;
  set.compact_order = sched::binding_order(machine, budget, Binding::kCompact);
  set.spread_order = sched::binding_order(machine, budget, Binding::kSpread);
  return set;
}

perfmodel::Budget whole_budget(const perfmodel::Machine& machine) {
  perfmodel::Budget budget;
  for (const perfmodel::ProcessingUnit& unit : machine.units) budget.units.push_back(unit.os_index);
  std::sort(budget.units.begin(), budget.units.end());
  budget.cores = std::max(1, static_cast<int>(machine.cores.size()));
  return budget;
}

}  // namespace optile::daemon
