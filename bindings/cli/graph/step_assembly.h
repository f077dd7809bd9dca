// A step's graph out of a model's graph and of what was measured of its ops. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "bindings/cli/support/json_fields.h"
#include "perfmodel/synthetic/step_graph.h"

namespace optile::cli {

using SecondsByWidth = std::map<int, double>;

// What a run measured of an op, by its width; nothing where it has met no such op.
using OpMeasurements = std::function<std::optional<SecondsByWidth>(
    const std::string& op, const std::string& shape, bool backward)>;

struct AssembledStep {
  perfmodel::StepGraph graph;
  std::size_t ops = 0;
  std::size_t matched = 0;     // of them, with times of the run
  double seconds = 0;          // of all ops, one after the other, each at its fastest width
  double matched_seconds = 0;  // of those
};

// `model` is what bindings/python/optile/step_ops.py writes. Ops that the run has not met have the
// time of that file's one pass, at every width, and say so. `cores` is the widest width.
// kInvalid: where the file is none of these.
base::Result<AssembledStep> assemble_step(const Json& model, const OpMeasurements& measured,
                                          int cores);

}  // namespace optile::cli
