// Our own step graphs, as `optile simulate` reads them: ops of one training step on one machine.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "perfmodel/synthetic/step_graph_json.h"
#include "placement/import/formats.h"
#include "placement/import/json_reader.h"
#include "placement/import/layer_costs.h"

namespace optile::placement {
namespace {

using base::invalid;

// Of "(64,32,32,64)*(3,3,64,64)->(64,32,32,64)" what the last brackets hold: the result. Nothing
// where the text is another.
double result_bytes(const std::string& shape) {
  const std::size_t open = shape.rfind('(');
  const std::size_t close = shape.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return 0;
  double values = 1;
  double number = 0;
  bool digits = false;
  for (std::size_t i = open + 1; i <= close; ++i) {
    const char letter = shape[i];
    if (letter >= '0' && letter <= '9') {
      number = number * 10 + (letter - '0');
      digits = true;
    } else if ((letter == ',' || i == close) && digits) {
      values *= number;
      number = 0;
      digits = false;
    } else if (letter != ' ' && i != close) {
      return 0;
    }
  }
  const double bytes = values * kBytesPerValue;
  return bytes <= kMaxQuantity ? bytes : std::numeric_limits<double>::infinity();
}

double fastest_ms(const perfmodel::ConfigurationTimes& times) {
  double seconds = perfmodel::kInfinity;
  for (const auto* list : {&times.spread, &times.compact, &times.mixed}) {
    for (const double one : *list) {
      if (one < 0) return -1;
      seconds = std::min(seconds, one);
    }
  }
  return seconds * 1e3;
}

}  // namespace

base::Result<Model> read_step(std::string_view text) {
  const base::Result<perfmodel::StepGraph> read = perfmodel::parse_step_graph(std::string(text));
  if (!read.ok()) return read.error();
  const perfmodel::StepGraph& step = read.value();
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::size_t> edge_nodes;
  for (std::size_t i = 0; i < step.nodes.size(); ++i) {
    const int instance = step.nodes[i].instance;
    if (instance < 0 || static_cast<std::size_t>(instance) >= step.instances.size()) {
      return invalid(place_in("nodes", i) + ".instance", "there is no such instance");
    }
    const perfmodel::OpInstance& op = step.instances[static_cast<std::size_t>(instance)];
    Node node;
    node.name = op.op + " " + std::to_string(i);
    node.kind = op.op;
    // Every device is a machine like the one that the times are of.
    node.accelerator_ms = node.cpu_ms = fastest_ms(op.times);
    if (!std::isfinite(node.cpu_ms) || node.cpu_ms < 0) {
      return invalid(place_in("instances", static_cast<std::size_t>(instance)) + ".times",
                     "a time from 0 on is expected in some case");
    }
    node.output_bytes = op.output_bytes >= 0 ? op.output_bytes : result_bytes(op.shape);
    node.memory_bytes = node.output_bytes;
    node.backward = op.backward;
    node.colour = std::max(-1, step.nodes[i].colour);
    if (!step.nodes[i].name.empty()) node.name = step.nodes[i].name + " " + node.name;
    nodes.push_back(std::move(node));
    for (const int input : step.nodes[i].inputs) {
      edges.push_back({input, static_cast<NodeId>(i), false});
      edge_nodes.push_back(i);
    }
  }
  base::Result<Graph> graph = Graph::make(
      std::move(nodes), edges, [](std::size_t i) { return place_in("nodes", i); },
      [&](std::size_t i) { return place_in("nodes", edge_nodes[i]) + ".inputs"; });
  if (!graph.ok()) return graph.error();
  return Model{std::move(graph).value(), "optile-step", std::nullopt, {}};
}

}  // namespace optile::placement
