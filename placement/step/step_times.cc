#include "placement/step/step_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "placement/infinity.h"
#include "placement/step/routes.h"
#include "placement/step/step.h"

namespace optile::placement {
namespace {

constexpr Ticks kGrid = Ticks{1} << 22;
constexpr int kBits = 52;  // of a step in ticks: one less than a double holds exactly

double output_ms(const Node& node, const Cluster& cluster, int micro_batches) {
  Node part = node;
  part.output_bytes /= micro_batches;
  if (part.output_ms >= 0) part.output_ms /= micro_batches;
  return cluster.output_ms(part);
}

// What flows over routed links.
double output_bytes(const Node& node, const Cluster& cluster, int micro_batches) {
  const double bytes =
      node.output_ms >= 0 ? node.output_ms * cluster.bytes_per_ms : node.output_bytes;
  return bytes / micro_batches;
}

}  // namespace

StepTimes::StepTimes(const Graph& graph, const Cluster& cluster, const StepSetting& setting) {
  const auto nodes = static_cast<std::size_t>(graph.size());
  std::vector<DeviceId> first;  // device of each kind
  std::map<std::pair<DeviceKind, double>, int> kinds;
  for (DeviceId d = 0; d < cluster.size(); ++d) {
    const Device& device = cluster.device(d);
    const auto [at, fresh] =
        kinds.emplace(std::pair(device.kind, device.speed), static_cast<int>(first.size()));
    if (fresh) first.push_back(d);
    kind_.push_back(at->second);
  }
  std::vector<double> time;
  std::vector<double> output;
  std::vector<double> least(nodes, kInfinity);
  std::vector<double> most(nodes, 0);
  for (const DeviceId d : first) {
    for (std::size_t i = 0; i < nodes; ++i) {
      const Node& node = graph.nodes()[i];
      time.push_back(cluster.time_ms(node, d) / setting.micro_batches + setting.op_ms);
      least[i] = std::min(least[i], time.back());
      if (time.back() < kInfinity) most[i] = std::max(most[i], time.back());
    }
  }
  // No step is longer than everything one after the other.
  const std::shared_ptr<const Routes> routes = with_routes(cluster, setting).routes;
  double sum = 0;
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto readers = graph.readers(static_cast<NodeId>(i)).size();
    const auto copies = static_cast<double>(std::min(readers, cluster.devices.size()));
    output.push_back(output_ms(graph.nodes()[i], cluster, setting.micro_batches));
    double longest = output[i];
    if (routes) {
      bytes_.push_back(output_bytes(graph.nodes()[i], cluster, setting.micro_batches));
      longest = routes->longest_ms(bytes_[i]);
    }
    sum += setting.micro_batches * (most[i] + copies * std::max(longest, output[i]));
  }
  if (sum > 0) tick_ = std::ldexp(1.0, std::ilogb(sum) + 1 - kBits);
  const auto ticks = [&](double ms) {
    return ms < kInfinity ? static_cast<Ticks>(std::llround(ms / tick_)) : kNoTicks;
  };
  for (const double ms : time) time_.push_back(ticks(ms));
  for (const double ms : output) output_.push_back(ticks(ms));
  way_.resize(nodes);
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    const auto i = static_cast<std::size_t>(*at);
    double after = 0;
    for (const NodeId next : graph.successors(*at)) {
      after = std::max(after, way_[static_cast<std::size_t>(next)]);
    }
    way_[i] = after + least[i] + (graph.readers(*at).empty() ? 0 : output[i]);
  }
}

Ticks StepTimes::latency(double ms) const {
  return static_cast<Ticks>(std::llround(ms / tick_));
}

Ticks StepTimes::coarse(Ticks now, double ms) const {
  const double cells = (static_cast<double>(now) + ms / tick_) / static_cast<double>(kGrid);
  return std::max(now, static_cast<Ticks>(std::llround(cells)) * kGrid);
}

std::vector<ItemId> items_by_rank(const std::vector<double>& ways, int micro_batches) {
  std::vector<ItemId> order(ways.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) {
    return ways[static_cast<std::size_t>(a)] > ways[static_cast<std::size_t>(b)];
  });
  const std::size_t nodes = ways.size();
  order.reserve(nodes * static_cast<std::size_t>(micro_batches));
  for (std::size_t i = nodes; i < nodes * static_cast<std::size_t>(micro_batches); ++i) {
    order.push_back(order[i - nodes] + static_cast<ItemId>(nodes));
  }
  return order;
}

}  // namespace optile::placement
