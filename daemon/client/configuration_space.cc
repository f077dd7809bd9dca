#include "daemon/client/configuration_space.h"

#include <algorithm>

#include "sched/cores/binding_order.h"

namespace optile::daemon {

using perfmodel::Binding;

ConfigurationSpace make_configuration_space(const perfmodel::Machine& machine,
                                            const perfmodel::Budget& budget) {
  ConfigurationSpace set;
  set.cores = std::max(1, budget.cores);
  for (const Binding binding : {Binding::kNone, Binding::kCompact, Binding::kSpread}) {
    for (const int width : sched::admitted_widths(machine, budget, binding)) {
      set.cases.push_back({width, binding});
    }
  }
  for (int width = 1; width <= set.cores; ++width) set.unbound.push_back({width, Binding::kNone});
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
