// Groups of units that a policy places together, as Placeto's and the recurrent placers' papers
// group ops before they learn. Pure.
#pragma once

#include "placement/units.h"

namespace optile::placement::policy {

// At most about `most` groups: units that exchange the longest transfers come together as long as
// a group stays small, in time and memory; what is left then by its place in `order`. Units that
// no device runs both of are never together, so that there may be more.
Units grouped(const Units& units, const std::vector<UnitId>& order, int most);

}  // namespace optile::placement::policy
