// Step graphs as files. The format is in docs/results/simulator.md; unknown fields, fields that
// occur twice and anything after the end are errors. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "perfmodel/synthetic/step_graph.h"

namespace optile::perfmodel {

inline constexpr std::size_t kMaxStepGraphBytes = 32U << 20;

// Errors say where: line and column for what is no JSON, "nodes[3].inputs[0]" for what is no graph.
// Reads the form only: whether the graph makes sense is for check_step_graph().
base::Result<StepGraph> parse_step_graph(const std::string& text);
// Reads the whole file, at most kMaxStepGraphBytes of it; errors begin with the path.
base::Result<StepGraph> read_step_graph(const std::string& path);
// One line for each instance and node; what parse_step_graph() reads back exactly.
std::string step_graph_text(const StepGraph& graph);

}  // namespace optile::perfmodel
