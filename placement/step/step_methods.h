// What methods of the objective step are made of.
#pragma once

#include "placement/methods/partitioners.h"
#include "placement/step/step.h"
#include "placement/step/step_model.h"

namespace optile::placement {

// HEFT, or ETF: the node with the longest way to the end goes next, or whichever can begin first,
// to the device where it ends first. The first node of a unit decides for the others.
UnitAssignment list_schedule(const Graph& graph, const Cluster& cluster, const Units& units,
                             const StepSetting& setting, bool earliest_first);

}  // namespace optile::placement
