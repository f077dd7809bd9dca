// The objective step as annealing asks for it.
#pragma once

#include <memory>

#include "placement/search/annealing.h"
#include "placement/step/step.h"
#include "placement/units.h"

namespace optile::placement {

// Scores the units' devices by a simulated step; the first ones it is asked for are kept. Keeps
// references.
std::unique_ptr<CostModel> step_model(const Graph& graph, const Cluster& cluster,
                                      const Units& units, const StepSetting& setting);

}  // namespace optile::placement
