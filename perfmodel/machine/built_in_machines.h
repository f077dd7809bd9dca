// Machines that are described and not here, by name: what the simulator is asked about, and what
// tests need that hwloc's synthetic descriptions cannot say (uneven clusters, two kinds of cores).
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perfmodel/machine/machine.h"

namespace optile::perfmodel {

// knl: 34 tiles of 2 cores with 4 hardware threads (the paper's machine). epyc-2x96: two sockets of
// twelve 8-core chiplets. xeon-snc: one socket in three NUMA clusters of 43, 43 and 42 cores.
// grace-144: two sockets of 72 single-threaded cores. hybrid: 8 fast cores with 2 hardware threads
// and 16 slower ones in fours.
std::vector<std::string> built_in_machine_names();

std::optional<Machine> built_in_machine(const std::string& name);

}  // namespace optile::perfmodel
