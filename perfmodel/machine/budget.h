// The budget: how many cores the kernel really grants, cpuset ∩ quota ∩ online. Read at start and
// once a second by the daemon, and once by the launcher. Reads files below `root` ("/" for real, a
// fixture folder in tests); never fails: what cannot be read does not limit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perfmodel/machine/machine.h"

namespace optile::perfmodel {

struct Budget {
  std::vector<int> units;   // os indices that are online and allowed, ascending
  std::vector<int> cpuset;  // of its control group, whatever masks its threads have; none = no word
  int cores = 1;            // whole cores among them, at most ceil(quota), at least 1
  double quota_cores = 0.0;  // smallest cgroup v1/v2 quota on the way up; 0 = none
  std::string limited_by;    // "cpuset", "quota", "online", or "" when nothing limits

  bool operator==(const Budget&) const = default;
};

struct BudgetSources {
  std::string root = "/";  // holds proc/ and sys/
  int pid = 0;             // whose allowed set and cgroup; 0 = self
  // What counts as its allowed set where somebody has changed its mask since, as far as its cpuset
  // still has it; os indices.
  std::optional<std::vector<int>> came_with = std::nullopt;
};

Budget read_budget(const Machine& machine, const BudgetSources& sources);

// Budget::cores without a machine, from a few files of the kernel's: a launcher has no time for a
// whole topology, whose library alone takes longer to load than a program may be held up.
int read_granted_cores(const BudgetSources& sources);

}  // namespace optile::perfmodel
