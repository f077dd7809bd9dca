#include "placement/layers/layer_strategies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace optile::placement {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr Cost kLongestStep = 86'400'000'000'000;  // nanoseconds, with the worst choices

Cost nanoseconds(double seconds) {
  return static_cast<Cost>(std::llround(std::min(seconds / kNanosecond, 9e17)));
}

// Tensors of the same key move the same: repeated modules share their tables.
std::vector<std::int64_t> key_of(const Layer& producer, const Layer& reader, std::int64_t channel) {
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(reader.kind), channel,
                                   static_cast<std::int64_t>(producer.space),
                                   static_cast<std::int64_t>(reader.space)};
  for (const Extents& extents : {producer.output, reader.input, reader.output}) {
    key.insert(key.end(), extents.begin(), extents.end());
  }
  for (const Window& window : reader.windows) {
    key.insert(key.end(), {window.size, window.stride, window.padding});
  }
  return key;
}

CostTable table_of(const LayerStrategies& of, const LayerEdge& edge) {
  const std::vector<Degrees>& from = of.ways[edge.first];
  const std::vector<Degrees>& to = of.ways[edge.second];
  TensorMoves moves(of.graph.layers[edge.first], of.graph.layers[edge.second], edge.channel,
                    of.setting);
  CostTable table{from.size(), to.size(), {}};
  table.costs.reserve(from.size() * to.size());
  for (const Degrees& made : from) {
    for (const Degrees& read : to) {
      table.costs.push_back(nanoseconds(seconds_of(moves.moved(made, read), of.setting)));
    }
  }
  return table;
}

StrategyNode node_of(const LayerStrategies& of, std::size_t layer) {
  StrategyNode node;
  for (const Degrees& degrees : of.ways[layer]) {
    const Layer& what = of.graph.layers[layer];
    const double seconds = compute_seconds(what, degrees, of.setting) +
                           seconds_of(synchronised(what, degrees, of.setting), of.setting);
    node.costs.push_back(nanoseconds(seconds));
  }
  node.usages.assign(node.costs.size(), 0);
  return node;
}

std::size_t dimension_of(const Layer& layer, UsualParallelism parallelism) {
  if (parallelism == UsualParallelism::kModel) return kChannel;
  const bool trick = parallelism == UsualParallelism::kOneWeirdTrick;
  return trick && layer.kind == LayerKind::kDense ? kChannel : kSample;
}

}  // namespace

base::Result<LayerStrategies> strategies_of(LayerGraph graph, const TrainingSetting& setting) {
  if (setting.devices < 1 || setting.devices > kMostTrainingDevices) {
    return base::Error{
        base::ErrorKind::kInvalid,
        "layers are split over 1 to " + std::to_string(kMostTrainingDevices) + " devices"};
  }
  if (setting.samples_per_device < 1) {
    return base::Error{base::ErrorKind::kInvalid, "a device has at least 1 sample"};
  }
  LayerStrategies made{std::move(graph), setting, {}, {}};
  made.problem.name = made.graph.name;
  for (std::size_t i = 0; i < made.graph.layers.size(); ++i) {
    made.ways.push_back(ways_to_split(made.graph.layers[i], setting.devices));
    made.problem.nodes.push_back(node_of(made, i));
  }
  std::map<std::vector<std::int64_t>, std::uint32_t> known;
  for (const LayerEdge& edge : made.graph.edges) {
    const auto next = static_cast<std::uint32_t>(made.problem.tables.size());
    const auto [at, is_new] = known.try_emplace(
        key_of(made.graph.layers[edge.first], made.graph.layers[edge.second], edge.channel), next);
    if (is_new) made.problem.tables.push_back(table_of(made, edge));
    made.problem.edges.push_back({edge.first, edge.second, at->second});
  }
  if (auto status = check(made.problem); !status.ok()) return status.error();
  if (greatest_sum(made.problem) > kLongestStep) {
    return base::Error{base::ErrorKind::kInvalid, "a step of this batch takes longer than a day"};
  }
  return made;
}

StepEstimate estimate(const LayerStrategies& strategies, const StrategyChoice& choice) {
  const TrainingSetting& setting = strategies.setting;
  const std::vector<Layer>& layers = strategies.graph.layers;
  StepEstimate sum;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Degrees& degrees = strategies.ways[i][choice[i]];
    const Moved moved = synchronised(layers[i], degrees, setting);
    sum.compute += compute_seconds(layers[i], degrees, setting);
    sum.synchronise += seconds_of(moved, setting);
    sum.moved += moved;
  }
  for (const LayerEdge& edge : strategies.graph.edges) {
    TensorMoves moves(layers[edge.first], layers[edge.second], edge.channel, setting);
    const Moved moved = moves.moved(strategies.ways[edge.first][choice[edge.first]],
                                    strategies.ways[edge.second][choice[edge.second]]);
    sum.transfer += seconds_of(moved, setting);
    sum.moved += moved;
  }
  return sum;
}

StrategyChoice usual(const LayerStrategies& strategies, UsualParallelism parallelism) {
  StrategyChoice choice;
  for (std::size_t i = 0; i < strategies.graph.layers.size(); ++i) {
    const std::size_t dimension = dimension_of(strategies.graph.layers[i], parallelism);
    const std::vector<Degrees>& ways = strategies.ways[i];
    std::size_t best = 0;
    for (std::size_t way = 0; way < ways.size(); ++way) {
      if (parallelism == UsualParallelism::kNone || parts_of(ways[way]) != ways[way][dimension]) {
        continue;
      }
      if (ways[way][dimension] > ways[best][dimension]) best = way;
    }
    choice.push_back(static_cast<std::uint16_t>(best));
  }
  return choice;
}

}  // namespace optile::placement
