// What Leases keeps of each client, and what a lease comes to for it. Plain values of that class.
#pragma once

#include <map>
#include <vector>

#include "daemon/lease_weights.h"

namespace optile::daemon {

struct LeasedClient {
  int pid = 0;
  int cores = 1;
  std::vector<int> units;
  std::map<int, double> measured;  // seconds of a step by cores
  uint32_t step_number = 0;        // of the step that these are about
  int granted = 0;                 // whole cores
  std::vector<double> progress;    // as the table is told while there are others
  bool settled = false;
  bool waits = false;
  bool away = false;
  bool would_use_more = false;  // cores than its own
  bool confined = false;        // to `units`; none: to what it came with
  int placings = 2;             // that are left, see seen()
  int placed_on = 0;            // cores, at the latest of them; 0 = none yet
  int lent = 0;
  bool shared = false;  // cores, since it was granted so many: its steps measure something else
  LeaseParty party;
  LeaseWeight weight;
};

// What a lease comes to for its client.
struct LeaseTerms {
  std::vector<int> units;
  std::vector<int> own_units;  // without what is lent
  std::vector<int> mask;       // none: no confinement
  int own = 0;                 // whole cores
  int lent = 0;
  bool in_turns = false;
  bool shares = false;
};

}  // namespace optile::daemon
