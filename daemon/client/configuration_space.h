// Which cases the budget allows on this machine, and in which order threads take its processing
// units. Pure; any thread.
#pragma once

#include <vector>

#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "perfmodel/profile/configuration.h"

namespace optile::daemon {

struct ConfigurationSpace {
  std::vector<perfmodel::Configuration> cases;    // all bindings that the machine admits
  std::vector<perfmodel::Configuration> unbound;  // the same widths with the masks left alone
  std::vector<int> compact_order;
  std::vector<int> spread_order;
  int cores = 1;             // of the budget
  int hardware_threads = 1;  // that each of them has at least

  bool operator==(const ConfigurationSpace&) const = default;
};

ConfigurationSpace make_configuration_space(const perfmodel::Machine& machine,
                                            const perfmodel::Budget& budget);

// All of a machine, for machines that are only described.
perfmodel::Budget whole_budget(const perfmodel::Machine& machine);

}  // namespace optile::daemon
