#include <algorithm>
#include <numeric>

#include "placement/infinity.h"
#include "placement/load/contiguity.h"
#include "placement/methods/partitioners.h"
#include "placement/random.h"

namespace optile::placement {
namespace {

double whole_time(const Units& units, DeviceId device) {
  double sum = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) sum += units.time_ms(unit, device);
  return sum;
}

// Units piece by piece, the pieces in a topological order of the forward pass: the smallest first
// of those that are ready, or the latest.
std::vector<UnitId> order_of_pieces(const Graph& graph, const Units& units, bool deep) {
  const Pieces pieces = forward_pieces(graph, units);
  const auto count = static_cast<std::size_t>(pieces.count);
  std::vector<std::vector<UnitId>> members(count);
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    members[static_cast<std::size_t>(pieces.of_unit[static_cast<std::size_t>(unit)])].push_back(
        unit);
  }
  // Where the graph's own order has the last node of a piece.
  std::vector<int> rank(count);
  int at = 0;
  for (const NodeId node : graph.order()) {
    const UnitId unit = units.of(node);
    rank[static_cast<std::size_t>(pieces.of_unit[static_cast<std::size_t>(unit)])] = ++at;
  }
  std::vector<std::size_t> waiting(count);
  std::vector<UnitId> ready;
  for (std::size_t piece = 0; piece < count; ++piece) {
    waiting[piece] = pieces.before[piece].size();
    if (waiting[piece] == 0) ready.push_back(static_cast<UnitId>(piece));
  }
  std::vector<UnitId> order;
  const auto later = [&](UnitId a, UnitId b) {
    return rank[static_cast<std::size_t>(a)] > rank[static_cast<std::size_t>(b)];
  };
  if (!deep) std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    if (!deep) std::pop_heap(ready.begin(), ready.end(), later);
    const auto piece = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    order.insert(order.end(), members[piece].begin(), members[piece].end());
    for (const UnitId after : pieces.after[piece]) {
      if (--waiting[static_cast<std::size_t>(after)] > 0) continue;
      ready.push_back(after);
      if (!deep) std::push_heap(ready.begin(), ready.end(), later);
    }
  }
  return order;
}

}  // namespace

std::vector<DeviceId> working_devices(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  for (DeviceId d = 0; d < cluster.size(); ++d) {
    if (cluster.device(d).kind == DeviceKind::kAccelerator) devices.push_back(d);
  }
  if (!devices.empty()) return devices;
  devices.resize(cluster.devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

void make_runnable(const Units& units, UnitAssignment& assignment) {
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    DeviceId& device = assignment[static_cast<std::size_t>(unit)];
    if (units.time_ms(unit, device) < kInfinity) continue;
    for (DeviceId d = 0; d < units.devices(); ++d) {
      if (units.time_ms(unit, d) < units.time_ms(unit, device)) device = d;
    }
  }
}

UnitAssignment on_one_device(const Units& units, const Cluster& cluster) {
  double memory = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) memory += units.memory(unit);
  const std::vector<DeviceId> devices = working_devices(cluster);
  DeviceId best = devices.front();
  for (const bool with_room : {false, true}) {
    double shortest = kInfinity;
    for (const DeviceId d : devices) {
      if (with_room && cluster.device(d).memory_bytes < memory) continue;
      const double time = whole_time(units, d);
      if (time >= shortest) continue;
      shortest = time;
      best = d;
    }
  }
  UnitAssignment assignment(static_cast<std::size_t>(units.size()), best);
  make_runnable(units, assignment);
  return assignment;
}

UnitAssignment at_random(const Units& units, const Cluster& cluster, std::uint64_t seed) {
  Random random(seed);
  const std::vector<DeviceId> devices = working_devices(cluster);
  UnitAssignment assignment;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    assignment.push_back(
        devices[static_cast<std::size_t>(random.below(static_cast<int>(devices.size())))]);
  }
  make_runnable(units, assignment);
  return assignment;
}

std::vector<UnitId> unit_order(const Graph& graph, const Units& units) {
  return order_of_pieces(graph, units, false);
}

std::vector<UnitId> branch_order(const Graph& graph, const Units& units) {
  return order_of_pieces(graph, units, true);
}

UnitAssignment in_blocks(const Units& units, const Cluster& cluster,
                         const std::vector<UnitId>& order) {
  const std::vector<DeviceId> devices = working_devices(cluster);
  double speeds = 0;
  for (const DeviceId d : devices) speeds += cluster.device(d).speed;
  // Times on a device of speed 1; what runs on no accelerator counts nothing.
  const auto work = [&](UnitId unit) {
    const double time = units.time_ms(unit, devices.front());
    return time < kInfinity ? time * cluster.device(devices.front()).speed : 0;
  };
  double whole = 0;
  for (const UnitId unit : order) whole += work(unit);
  UnitAssignment assignment(static_cast<std::size_t>(units.size()), devices.front());
  std::size_t at = 0;
  double share = whole * cluster.device(devices[0]).speed / speeds;
  double done = 0;
  for (const UnitId unit : order) {
    // The middle of the unit decides on which side of the cut it lies.
    while (at + 1 < devices.size() && done + work(unit) / 2 > share) {
      share += whole * cluster.device(devices[++at]).speed / speeds;
    }
    assignment[static_cast<std::size_t>(unit)] = devices[at];
    done += work(unit);
  }
  make_runnable(units, assignment);
  return assignment;
}

JoinedUnits joined_units(const Units& units) {
  JoinedUnits joined;
  auto& rows = joined.rows;
  rows.resize(static_cast<std::size_t>(units.size()));
  for (int net = 0; net < static_cast<int>(units.nets().size()); ++net) {
    const Net& one = units.nets()[static_cast<std::size_t>(net)];
    const auto readers = units.readers(net);
    const double weight = one.ms / static_cast<double>(readers.size());
    for (const UnitId reader : readers) {
      rows[static_cast<std::size_t>(one.producer)][reader] += weight;
      rows[static_cast<std::size_t>(reader)][one.producer] += weight;
    }
  }
  for (const auto& row : rows) {
    for (const auto& [other, weight] : row) joined.largest = std::max(joined.largest, weight);
  }
  return joined;
}

}  // namespace optile::placement
