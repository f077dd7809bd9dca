#include "placement/load/load_state.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace optile::placement {
namespace {

// Of a sum of bytes, which are whole numbers in doubles: a few units in the last place.
constexpr double kMemorySlack = 1e-12;

}  // namespace

LoadState::LoadState(const LoadProblem& problem, std::vector<DeviceId> assignment)
    : units_(&problem.units),
      devices_(static_cast<std::size_t>(problem.cluster.size())),
      assignment_(std::move(assignment)),
      changes_(devices_),
      touched_(devices_) {
  double whole = 0;
  for (UnitId unit = 0; unit < units_->size(); ++unit) whole += units_->memory(unit);
  for (const Device& device : problem.cluster.devices) {
    caps_.push_back(device.memory_bytes);
    pays_.push_back(device.kind != DeviceKind::kCpu);
    caps_matter_ = caps_matter_ || whole > device.memory_bytes;
  }
  recount();
}

void LoadState::recount() {
  load_.assign(devices_, 0);
  memory_.assign(devices_, 0);
  counts_.assign(units_->nets().size() * devices_, 0);
  spread_.assign(units_->nets().size(), 0);
  for (UnitId unit = 0; unit < units_->size(); ++unit) {
    const auto at = static_cast<std::size_t>(device(unit));
    load_[at] += units_->time_ms(unit, device(unit));
    memory_[at] += units_->memory(unit);
  }
  for (int net = 0; net < static_cast<int>(units_->nets().size()); ++net) {
    const Net& one = units_->nets()[static_cast<std::size_t>(net)];
    const DeviceId home = device(one.producer);
    for (const UnitId reader : units_->readers(net)) {
      const DeviceId there = device(reader);
      if (count(net, there)++ > 0) continue;
      ++spread_[static_cast<std::size_t>(net)];
      if (there != home && pays_[static_cast<std::size_t>(there)]) {
        load_[static_cast<std::size_t>(there)] += one.ms;
      }
    }
    if (others(net, home) > 0 && pays_[static_cast<std::size_t>(home)]) {
      load_[static_cast<std::size_t>(home)] += one.ms;
    }
  }
}

double LoadState::cost() const {
  return *std::max_element(load_.begin(), load_.end());
}

double LoadState::excess_of(DeviceId device, double memory) const {
  const double cap = caps_[static_cast<std::size_t>(device)];
  if (memory <= cap * (1 + kMemorySlack)) return 0;
  return cap > 0 ? (memory - cap) / cap : memory;
}

double LoadState::excess() const {
  double sum = 0;
  if (!caps_matter_) return sum;
  for (std::size_t d = 0; d < devices_; ++d) {
    sum += excess_of(static_cast<DeviceId>(d), memory_[d]);
  }
  return sum;
}

double LoadState::probed_excess(UnitId unit, DeviceId to) const {
  if (!caps_matter_) return 0;
  const DeviceId from = device(unit);
  if (from == to) return excess();
  const double bytes = units_->memory(unit);
  const double from_now = memory_[static_cast<std::size_t>(from)];
  const double to_now = memory_[static_cast<std::size_t>(to)];
  return excess() - excess_of(from, from_now) - excess_of(to, to_now) +
         excess_of(from, from_now - bytes) + excess_of(to, to_now + bytes);
}

void LoadState::add(DeviceId device, double ms) {
  const auto at = static_cast<std::size_t>(device);
  if (!touched_[at]) changed_.push_back(device);
  touched_[at] = true;
  changes_[at] += ms;
}

void LoadState::probe(UnitId unit, DeviceId to) {
  for (const DeviceId device : changed_) {
    changes_[static_cast<std::size_t>(device)] = 0;
    touched_[static_cast<std::size_t>(device)] = false;
  }
  changed_.clear();
  const DeviceId from = device(unit);
  if (from == to) return;
  add(from, -units_->time_ms(unit, from));
  add(to, units_->time_ms(unit, to));
  for (const int net : units_->produced(unit)) {
    const double ms = units_->nets()[static_cast<std::size_t>(net)].ms;
    if (others(net, from) > 0) add_transfer(from, -ms);
    if (others(net, to) > 0) add_transfer(to, ms);
    if (count(net, from) > 0) add_transfer(from, ms);
    if (count(net, to) > 0) add_transfer(to, -ms);
  }
  for (const int net : units_->read(unit)) {
    const Net& one = units_->nets()[static_cast<std::size_t>(net)];
    const DeviceId home = device(one.producer);
    const bool leaves = count(net, from) == 1;
    const bool enters = count(net, to) == 0;
    if (leaves && from != home) add_transfer(from, -one.ms);
    if (enters && to != home) add_transfer(to, one.ms);
    const int before = others(net, home);
    const int after = before - (leaves && from != home ? 1 : 0) + (enters && to != home ? 1 : 0);
    if (before > 0 && after == 0) add_transfer(home, -one.ms);
    if (before == 0 && after > 0) add_transfer(home, one.ms);
  }
}

void LoadState::move(UnitId unit, DeviceId to) {
  const DeviceId from = device(unit);
  if (from == to) return;
  probe(unit, to);
  for (const DeviceId device : changed_) {
    load_[static_cast<std::size_t>(device)] += changes_[static_cast<std::size_t>(device)];
  }
  memory_[static_cast<std::size_t>(from)] -= units_->memory(unit);
  memory_[static_cast<std::size_t>(to)] += units_->memory(unit);
  for (const int net : units_->read(unit)) {
    if (--count(net, from) == 0) --spread_[static_cast<std::size_t>(net)];
    if (count(net, to)++ == 0) ++spread_[static_cast<std::size_t>(net)];
  }
  assignment_[static_cast<std::size_t>(unit)] = to;
}

LoadFigures evaluate_load(const Graph& graph, const Cluster& cluster,
                          const std::vector<DeviceId>& assignment) {
  const auto devices = static_cast<std::size_t>(cluster.size());
  LoadFigures figures;
  figures.load.assign(devices, 0);
  figures.memory.assign(devices, 0);
  std::vector<NodeId> last(devices, -1);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const DeviceId home = assignment[static_cast<std::size_t>(id)];
    const Node& node = graph.node(id);
    figures.load[static_cast<std::size_t>(home)] += cluster.time_ms(node, home);
    figures.memory[static_cast<std::size_t>(home)] += node.memory_bytes;
    bool leaves = false;
    for (const NodeId reader : graph.readers(id)) {
      const DeviceId there = assignment[static_cast<std::size_t>(reader)];
      if (there == home || last[static_cast<std::size_t>(there)] == id) continue;
      last[static_cast<std::size_t>(there)] = id;
      if (cluster.device(there).kind != DeviceKind::kCpu) {
        figures.load[static_cast<std::size_t>(there)] += cluster.output_ms(node);
      }
      leaves = true;
    }
    leaves = leaves && cluster.device(home).kind != DeviceKind::kCpu;
    if (leaves) figures.load[static_cast<std::size_t>(home)] += cluster.output_ms(node);
  }
  figures.cost = *std::max_element(figures.load.begin(), figures.load.end());
  for (std::size_t d = 0; d < devices && figures.violation.empty(); ++d) {
    const Device& device = cluster.devices[d];
    if (figures.memory[d] > device.memory_bytes * (1 + kMemorySlack)) {
      figures.violation = device.name + " would need " + std::to_string(figures.memory[d] / 1e9) +
                          " GB of memory and has " + std::to_string(device.memory_bytes / 1e9);
    } else if (!(figures.load[d] < std::numeric_limits<double>::infinity())) {
      figures.violation = "a node that needs a CPU is on " + device.name;
    }
  }
  figures.feasible = figures.violation.empty();
  return figures;
}

}  // namespace optile::placement
