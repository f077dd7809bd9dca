// Laws that say what an op costs in every case of a machine, for simulations.
// docs/results/curves.md has the formula. Plain values; any thread.
#pragma once

#include "perfmodel/machine/machine.h"
#include "perfmodel/synthetic/configuration_times.h"

namespace optile::perfmodel {

// Seconds at width w: serial + parallel / w + per_thread * w.
struct OpLaw {
  double serial = 0;      // seconds that no width shortens
  double parallel = 0;    // seconds of work at width 1
  double per_thread = 0;  // seconds that each further thread costs
};

ConfigurationTimes law_times(const OpLaw& law, const Machine& machine);

}  // namespace optile::perfmodel
