// What the planner is told about an op place: its time at every width, from samples, and where
// there are none from the curve or from a first touch. Places of one key share their samples as
// long as they agree: one instance in twenty places of a step is measured twenty times. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "perfmodel/profile/configuration.h"
#include "tuner/plan/op_samples.h"
#include "tuner/plan/width_planner.h"

namespace optile::tuner {

struct EstimateSource {
  uint64_t key = 0;
  const OpSamples* samples = nullptr;
};

struct EstimateOptions {
  perfmodel::Configuration own;                            // the control
  perfmodel::Binding binding = perfmodel::Binding::kNone;  // in force for the whole plan
  std::vector<int> widths;  // to be estimated besides the default width, ascending
  // At widths where the place has no sample: from its curve, or a first touch. Otherwise only a
  // first touch, of a place that has no sample at all.
  bool predict = true;
};

// Element i: the estimates of source i, ascending by width; the default width is always among them
// where anything was sampled at it. Widths nothing is known of are left out.
std::vector<std::vector<WidthEstimate>> estimate_widths(const std::vector<EstimateSource>& sources,
                                                        const EstimateOptions& options);

}  // namespace optile::tuner
