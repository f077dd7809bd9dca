#include "placement/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/at.h"
#include "placement/latency/latency.h"
#include "placement/step/step.h"

namespace optile::placement {
namespace {

using base::at;

// The other devices that read the node's tensor, in increasing order.
std::vector<DeviceId> targets(const Graph& graph, const std::vector<DeviceId>& assignment,
                              NodeId id) {
  std::vector<DeviceId> devices;
  for (const NodeId reader : graph.readers(id)) {
    const DeviceId there = assignment[at(reader)];
    if (there != assignment[at(id)]) devices.push_back(there);
  }
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

// Where tensors flow along routes, only what devices compute: a tensor's flow has no end of its
// own.
std::vector<Span> of_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                          const std::vector<DeviceId>& assignment) {
  const StepFigures figures = evaluate_step(graph, cluster, setting, assignment);
  if (!std::isfinite(figures.cost)) return {};
  const double batches = setting.micro_batches;
  std::vector<Span> spans;
  for (const std::int32_t item : figures.order) {
    const NodeId id = item % graph.size();
    const DeviceId home = assignment[at(id)];
    const double time = cluster.time_ms(graph.node(id), home) / batches + setting.op_ms;
    const double start = figures.start[at(item)];
    spans.push_back({Span::What::kCompute, home, id, -1, start, start + time});
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start_ms < b.start_ms; });
  if (setting.links == StepLinks::kRouted) return spans;
  // A device's nodes end in the order in which they begin, and its bus takes their tensors so.
  std::vector<double> bus(at(cluster.size()), 0);
  const std::size_t nodes = spans.size();
  for (std::size_t i = 0; i < nodes; ++i) {
    const Span node = spans[i];
    // A part of the bytes, but the whole latency.
    Node part = graph.node(node.node);
    part.output_bytes /= batches;
    part.output_ms /= batches;
    const double takes = cluster.output_ms(part);
    for (const DeviceId there : targets(graph, assignment, node.node)) {
      double& free = bus[at(node.device)];
      const double begin =
          setting.links == StepLinks::kBus ? std::max(free, node.end_ms) : node.end_ms;
      free = begin + takes;
      spans.push_back({Span::What::kSend, node.device, node.node, there, begin, begin + takes});
    }
  }
  return spans;
}

std::vector<Span> of_sample(const Graph& graph, const Cluster& cluster,
                            const std::vector<DeviceId>& assignment) {
  const LatencyFigures figures = evaluate_latency(graph, cluster, assignment);
  if (!std::isfinite(figures.cost)) return {};
  const auto is_cpu = [&](DeviceId d) { return cluster.device(d).kind == DeviceKind::kCpu; };
  std::vector<Span> spans;
  std::vector<double> now(at(cluster.size()), std::numeric_limits<double>::quiet_NaN());
  const auto go_on = [&](Span::What what, DeviceId device, NodeId id, double takes) {
    double& begin = now[at(device)];
    spans.push_back({what, device, id, -1, begin, begin + takes});
    begin += takes;
  };
  // A part takes its inputs one after the other, then its nodes, then what others read.
  for (const NodeId id : graph.order()) {
    const DeviceId home = assignment[at(id)];
    if (!is_cpu(home) && std::isnan(now[at(home)])) now[at(home)] = figures.start[at(id)];
  }
  for (const NodeId id : graph.order()) {
    for (const DeviceId there : targets(graph, assignment, id)) {
      if (is_cpu(there)) continue;
      go_on(Span::What::kReceive, there, id, cluster.output_ms(graph.node(id)));
    }
  }
  for (const NodeId id : graph.order()) {
    const DeviceId home = assignment[at(id)];
    const double takes = cluster.time_ms(graph.node(id), home);
    if (is_cpu(home)) now[at(home)] = figures.start[at(id)];
    go_on(Span::What::kCompute, home, id, takes);
  }
  for (const NodeId id : graph.order()) {
    const DeviceId home = assignment[at(id)];
    if (is_cpu(home) || targets(graph, assignment, id).empty()) continue;
    go_on(Span::What::kSend, home, id, cluster.output_ms(graph.node(id)));
  }
  return spans;
}

}  // namespace

std::vector<Span> timeline(const Graph& graph, const Cluster& cluster, const Request& request,
                           const std::vector<DeviceId>& assignment) {
  if (request.objective == Objective::kStep) {
    return of_step(graph, cluster, {request.links, request.op_ms, request.micro_batches},
                   assignment);
  }
  if (request.objective == Objective::kLatency) return of_sample(graph, cluster, assignment);
  return {};
}

}  // namespace optile::placement
