// Lower bounds that take time, whatever the objective.
#pragma once

#include "placement/place.h"

namespace optile::placement {

// kInvalid where the objective has no such bound for this cluster.
base::Status can_improve_bound(const Cluster& cluster, const Request& request);

// Spends `request.bound_seconds` on a larger `answer.lower_bound`, or less where it is proven that
// nothing is cheaper or where more time would not help. Tells `request.progress` of better ones.
void improve_bound(const Graph& graph, const Cluster& cluster, const Request& request,
                   Answer& answer);

}  // namespace optile::placement
