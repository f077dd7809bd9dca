// Lower bounds that take time, whatever the objective.
#pragma once

#include "placement/place.h"

namespace optile::placement {

// kInvalid where the objective has no such bound for this cluster or this kind of step.
base::Status can_improve_bound(const Cluster& cluster, const Request& request);

// Spends `request.bound_seconds` on a larger `answer.lower_bound`, or less where it is proven that
// nothing is cheaper or where more time would not help.
void improve_bound(const Graph& graph, const Cluster& cluster, const Request& request,
                   Answer& answer);

// Makes a proven `bound` the answer's where it is larger. What exceeds the cost by no more than
// rounding counts as proven up to the cost; what exceeds it by more is wrong: the answer keeps its
// bound and says so in `bound_fault`.
void take_bound(double bound, Answer& answer);

}  // namespace optile::placement
