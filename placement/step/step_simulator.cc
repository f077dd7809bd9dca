#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "placement/step/step.h"

namespace optile::placement {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

bool StepSimulator::Event::operator>(const Event& other) const {
  if (time != other.time) return time > other.time;
  if (kind != other.kind) return kind > other.kind;
  return node > other.node;
}

StepSimulator::StepSimulator(const Graph& graph, const Cluster& cluster, const StepSetting& setting)
    : graph_(graph), setting_(setting), devices_(cluster.devices.size()), state_(devices_) {
  const auto nodes = static_cast<std::size_t>(graph.size());
  way_.resize(nodes);
  waiting_.resize(nodes);
  ready_at_.resize(nodes);
  start_.resize(nodes);
  arrival_.resize(devices_);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      time_.push_back(cluster.time_ms(graph.node(id), d) + setting.op_ms);
    }
    output_.push_back(cluster.output_ms(graph.node(id)));
    inputs_.push_back(static_cast<int>(graph.predecessors(id).size()));
  }
  for (auto at = graph.order().rbegin(); at != graph.order().rend(); ++at) {
    double after = 0;
    for (const NodeId next : graph.successors(*at)) after = std::max(after, way_[index(next)]);
    double best = kNever;
    for (std::size_t d = 0; d < devices_; ++d) {
      best = std::min(best, time_[index(*at) * devices_ + d]);
    }
    way_[index(*at)] = after + best + (graph.readers(*at).empty() ? 0 : output_[index(*at)]);
  }
}

void StepSimulator::push(double time, int kind, NodeId node) {
  events_.push_back({time, kind, node});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

void StepSimulator::begin(DeviceId d, double now) {
  Device& device = state_[index(d)];
  if (device.busy || device.ready.empty()) return;
  std::pop_heap(device.ready.begin(), device.ready.end());
  const NodeId id = -device.ready.back().second;
  device.ready.pop_back();
  device.busy = true;
  start_[index(id)] = now;
  push(now + time(id, d), 0, id);
}

void StepSimulator::deliver(NodeId reader, double when) {
  double& ready = ready_at_[index(reader)];
  ready = std::max(ready, when);
  if (--waiting_[index(reader)] == 0) push(ready, 1, reader);
}

void StepSimulator::finish(NodeId id, double now) {
  const DeviceId home = (*nodes_)[index(id)];
  state_[index(home)].busy = false;
  targets_.clear();
  for (const NodeId reader : graph_.readers(id)) {
    const DeviceId there = (*nodes_)[index(reader)];
    if (there != home) targets_.push_back(there);
  }
  if (!targets_.empty()) {
    std::sort(targets_.begin(), targets_.end());
    targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
    double& bus = state_[index(home)].bus_free;
    for (const DeviceId there : targets_) {
      double arrives = now + output_[index(id)];
      if (setting_.links == StepLinks::kBus) {
        bus = std::max(bus, now) + output_[index(id)];
        arrives = bus;
      }
      arrival_[index(there)] = arrives;
    }
  }
  arrival_[index(home)] = now;
  const auto readers = graph_.readers(id);
  std::size_t next_reader = 0;
  for (const NodeId next : graph_.successors(id)) {
    const bool reads = next_reader < readers.size() && readers[next_reader] == next;
    if (reads) ++next_reader;
    deliver(next, reads ? arrival_[index((*nodes_)[index(next)])] : now);
  }
}

double StepSimulator::run(const std::vector<DeviceId>& nodes) {
  nodes_ = &nodes;
  events_.clear();
  for (Device& device : state_) {
    device.busy = false;
    device.bus_free = 0;
    device.ready.clear();
  }
  std::copy(inputs_.begin(), inputs_.end(), waiting_.begin());
  std::fill(ready_at_.begin(), ready_at_.end(), 0.0);
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (!(time(id, nodes[index(id)]) < kNever)) return kNever;
    if (waiting_[index(id)] == 0) push(0, 1, id);
  }
  double last = 0;
  while (!events_.empty()) {
    // Everything of one moment happens before anything begins.
    const double now = events_.front().time;
    last = now;
    while (!events_.empty() && events_.front().time == now) {
      std::pop_heap(events_.begin(), events_.end(), std::greater<>());
      const Event event = events_.back();
      events_.pop_back();
      if (event.kind == 0) {
        finish(event.node, now);
      } else {
        Device& device = state_[index(nodes[index(event.node)])];
        device.ready.emplace_back(way_[index(event.node)], -event.node);
        std::push_heap(device.ready.begin(), device.ready.end());
      }
    }
    for (DeviceId d = 0; d < static_cast<DeviceId>(devices_); ++d) begin(d, now);
  }
  return last;
}

namespace {

// Memory, and whether everything has begun.
void check(const Graph& graph, const Cluster& cluster, const std::vector<DeviceId>& assignment,
           StepFigures& figures) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const DeviceId d = assignment[static_cast<std::size_t>(id)];
    figures.memory[static_cast<std::size_t>(d)] += graph.node(id).memory_bytes;
    const bool begun = figures.start[static_cast<std::size_t>(id)] < kNever;
    if (begun && cluster.time_ms(graph.node(id), d) < kNever) continue;
    figures.cost = kNever;
    figures.violation = "a node is on a device that cannot run it";
  }
  for (std::size_t d = 0; d < figures.memory.size() && figures.violation.empty(); ++d) {
    if (figures.memory[d] > cluster.devices[d].memory_bytes) {
      figures.violation = cluster.devices[d].name + " would need " +
                          std::to_string(figures.memory[d] / 1e9) + " GB of memory and has " +
                          std::to_string(cluster.devices[d].memory_bytes / 1e9);
    }
  }
  figures.feasible = figures.violation.empty();
}

}  // namespace

StepFigures evaluate_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                          const std::vector<DeviceId>& assignment) {
  const auto on = [&](NodeId id) { return assignment[static_cast<std::size_t>(id)]; };
  const auto at = [](std::int32_t id) { return static_cast<std::size_t>(id); };
  const std::vector<double> ways = StepSimulator(graph, cluster, setting).ways();
  StepFigures figures;
  figures.load.assign(at(cluster.size()), 0);
  figures.memory.assign(at(cluster.size()), 0);
  figures.start.assign(at(graph.size()), kNever);
  std::vector<double> free(at(cluster.size()), 0), bus(free);
  std::vector<double> end(at(graph.size()), kNever);
  // When a node's tensor is on a device; kNever until it is known.
  std::vector arrival(at(graph.size()), std::vector(at(cluster.size()), kNever));
  // Nodes whose inputs are all made, with when they are there.
  std::vector<std::pair<NodeId, double>> open;
  std::vector<int> waiting(at(graph.size()));
  const auto add_open = [&](NodeId id) {
    double ready = 0;
    for (const NodeId before : graph.predecessors(id)) {
      const auto readers = graph.readers(before);
      const bool reads = std::binary_search(readers.begin(), readers.end(), id);
      ready = std::max(ready, reads ? arrival[at(before)][at(on(id))] : end[at(before)]);
    }
    open.emplace_back(id, ready);
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    waiting[at(id)] = static_cast<int>(graph.predecessors(id).size());
    if (waiting[at(id)] == 0) add_open(id);
  }
  while (!open.empty()) {
    // Of all nodes that could begin next the earliest, and of a device's the one with most to come.
    std::size_t best = 0;
    const auto key = [&](std::size_t i) {
      const auto [id, ready] = open[i];
      return std::tuple(std::max(ready, free[at(on(id))]), -ways[at(id)], id);
    };
    for (std::size_t i = 1; i < open.size(); ++i) {
      if (key(i) < key(best)) best = i;
    }
    const auto [when, way, chosen] = key(best);
    if (!(when < kNever)) break;
    open[best] = open.back();
    open.pop_back();
    const DeviceId home = on(chosen);
    figures.start[at(chosen)] = when;
    end[at(chosen)] = when + cluster.time_ms(graph.node(chosen), home) + setting.op_ms;
    free[at(home)] = end[at(chosen)];
    figures.cost = std::max(figures.cost, end[at(chosen)]);
    figures.load[at(home)] += end[at(chosen)] - when;
    arrival[at(chosen)][at(home)] = end[at(chosen)];
    const double output = cluster.output_ms(graph.node(chosen));
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      const auto readers = graph.readers(chosen);
      const bool goes = d != home && std::any_of(readers.begin(), readers.end(),
                                                 [&](NodeId one) { return on(one) == d; });
      if (!goes) continue;
      double begin = end[at(chosen)];
      // A device's nodes end one after the other, so its bus takes them in the order of begins.
      if (setting.links == StepLinks::kBus) begin = std::max(begin, bus[at(home)]);
      arrival[at(chosen)][at(d)] = begin + output;
      bus[at(home)] = begin + output;
    }
    for (const NodeId next : graph.successors(chosen)) {
      if (--waiting[at(next)] == 0) add_open(next);
    }
  }
  check(graph, cluster, assignment, figures);
  return figures;
}

}  // namespace optile::placement
