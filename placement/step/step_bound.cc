#include <algorithm>
#include <limits>

#include "placement/step/step.h"
#include "placement/step/stretches.h"

namespace optile::placement {
namespace {

// The longest path of one micro-batch, and the work of all of them over all devices.
template <typename BestTime>
double pipeline_bound(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                      const BestTime& best_time) {
  double work = 0;
  double longest = 0;
  std::vector<double> end(graph.nodes().size(), 0);
  for (const NodeId id : graph.order()) {
    double& mine = end[static_cast<std::size_t>(id)];
    for (const NodeId before : graph.predecessors(id)) {
      mine = std::max(mine, end[static_cast<std::size_t>(before)]);
    }
    const double time = best_time(id);
    mine += time;
    longest = std::max(longest, mine);
    work += setting.micro_batches * time;
  }
  return std::max(longest, work / static_cast<double>(cluster.size()));
}

}  // namespace

double step_bound(const Graph& graph, const Cluster& cluster, const StepSetting& setting) {
  const std::vector<NodeId>& order = graph.order();
  const auto devices = static_cast<double>(cluster.size());
  const auto best_time = [&](NodeId id) {
    double best = std::numeric_limits<double>::infinity();
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      best = std::min(best, cluster.time_ms(graph.node(id), d));
    }
    return best / setting.micro_batches + setting.op_ms;
  };
  // Micro-batches run beside each other: only one of them has waists.
  if (setting.micro_batches > 1) return pipeline_bound(graph, cluster, setting, best_time);
  // A stretch takes as long as its longest path, and as its work over all devices: a waist belongs
  // to the stretch that ends with it.
  double sum = 0;
  double work = 0;
  double longest = 0;
  std::vector<double> end(order.size(), 0);
  std::vector<int> ends = waists(graph);
  const std::size_t waist_count = ends.size();
  ends.push_back(static_cast<int>(order.size()) - 1);
  std::size_t next_end = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double time = best_time(order[i]);
    double& mine = end[static_cast<std::size_t>(order[i])];
    mine = 0;
    for (const NodeId before : graph.predecessors(order[i])) {
      mine = std::max(mine, end[static_cast<std::size_t>(before)]);
    }
    mine += time;
    longest = std::max(longest, mine);
    const bool last = static_cast<int>(i) == ends[next_end];
    // Nothing runs beside a waist; the last node of all need not be one.
    const bool alone = last && next_end < waist_count;
    if (!alone) work += time;
    if (!last) continue;
    sum += std::max(longest, work / devices + (alone ? time : 0));
    for (std::size_t j = first; j <= i; ++j) end[static_cast<std::size_t>(order[j])] = 0;
    work = 0;
    longest = 0;
    first = i + 1;
    ++next_end;
  }
  return sum;
}

}  // namespace optile::placement
