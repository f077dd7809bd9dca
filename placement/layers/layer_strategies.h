// Which way each layer of a network is split, so that the time of a training step is least under
// the model of layer_costs.h: as a strategy problem, whose costs are nanoseconds, and what any
// choice amounts to, the usual ones among them.
// Source: OptCNN, equation 1 and section 6 (data, model and "one weird trick" parallelism).
#pragma once

#include <vector>

#include "base/result.h"
#include "placement/layers/layer_costs.h"
#include "placement/layers/layer_graph.h"
#include "placement/strategy/problem.h"

namespace optile::placement {

struct LayerStrategies {
  LayerGraph graph;
  TrainingSetting setting;
  std::vector<std::vector<Degrees>> ways;  // of each layer; strategy s of its node is way s
  StrategyProblem problem;
};

// kInvalid for fewer devices or samples than 1, more than kMostTrainingDevices, or a step that may
// take longer than a day.
base::Result<LayerStrategies> strategies_of(LayerGraph graph, const TrainingSetting& setting);

// Equation 1 term by term.
struct StepEstimate {
  double compute = 0;      // seconds
  double synchronise = 0;  // seconds
  double transfer = 0;     // seconds
  Moved moved;             // by the last two

  double seconds() const { return compute + synchronise + transfer; }
};
StepEstimate estimate(const LayerStrategies& strategies, const StrategyChoice& choice);

// Everything on one device; samples split; channels split; channels of dense layers split and
// samples of all others. Where an extent has fewer parts than there are devices, as many as can be.
enum class UsualParallelism { kNone, kData, kModel, kOneWeirdTrick };
StrategyChoice usual(const LayerStrategies& strategies, UsualParallelism parallelism);

}  // namespace optile::placement
