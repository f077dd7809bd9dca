#include "placement/step/stretch_program.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "placement/infinity.h"

namespace optile::placement {
namespace {

using base::at;

constexpr std::size_t kMostPairs = 700;
constexpr int kMostOrdered = 400;        // nodes of which pairs are looked for
constexpr std::size_t kThresholds = 10;  // of heads and of tails, for the rows of a device
constexpr int kOrderPriority = 2;        // places are branched on first

bool reads(const Graph& graph, NodeId id, NodeId next) {
  const auto readers = graph.readers(id);
  return std::binary_search(readers.begin(), readers.end(), next);
}

// Some of the values, the smallest among them.
std::vector<double> thresholds(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() <= kThresholds) return values;
  std::vector<double> some;
  for (std::size_t i = 0; i < kThresholds; ++i) {
    some.push_back(values[i * (values.size() - 1) / (kThresholds - 1)]);
  }
  return some;
}

}  // namespace

// The program while it is made; times are fractions of `below`.
struct StretchProgram::Parts {
  double below = 1;
  Program program;
  int cost = -1;                 // column
  std::vector<int> first_place;  // of each unit, the column of its place on device 0
  std::vector<int> start;        // of each node
  std::vector<UnitId> unit_of;   // of each node
  double scaled(double ms) const { return ms / below; }
  int place(NodeId id, DeviceId d) const { return first_place[at(unit_of[at(id)])] + d; }
  Program::Row& row(double lower) {
    program.rows.push_back({lower, Program::kFree, {}});
    return program.rows.back();
  }
};

StretchProgram::StretchProgram(const Stretch& stretch, const Cluster& cluster, const Units& units,
                               const StepSetting& setting, const Ends& ends)
    : stretch_(stretch), cluster_(cluster), units_(units), ends_(ends) {
  for (NodeId id = 0; id < stretch.graph.size(); ++id) {
    const bool source = stretch.has_source && id == 0;
    for (DeviceId d = 0; d < cluster.size(); ++d) {
      double ms = source ? 0 : cluster.time_ms(stretch.graph.node(id), d) + setting.op_ms;
      if (source && ends.source != d) ms = kInfinity;
      if (id == stretch.sink && ends.sink != d) ms = kInfinity;
      time_.push_back(ms);
    }
    output_.push_back(cluster.output_ms(stretch.graph.node(id)));
  }
  find_heads();
  find_tails();
  find_free_bound();
  find_pairs();
}

double& StretchProgram::entry(std::vector<double>& table, NodeId id, DeviceId d) const {
  return table[at(id) * at(cluster_.size()) + at(d)];
}

double StretchProgram::entry(const std::vector<double>& table, NodeId id, DeviceId d) const {
  return table[at(id) * at(cluster_.size()) + at(d)];
}

bool StretchProgram::may_run(NodeId id, DeviceId d) const {
  return entry(time_, id, d) < kInfinity;
}

// On each device at least what `neighbour` takes with its own way, by the quickest of its places.
void StretchProgram::raise(std::vector<double>& way, NodeId id, NodeId neighbour,
                           double transfer_ms) const {
  for (DeviceId d = 0; d < cluster_.size(); ++d) {
    double least = kInfinity;
    for (DeviceId there = 0; there < cluster_.size(); ++there) {
      const double ms = entry(way, neighbour, there) + entry(time_, neighbour, there);
      least = std::min(least, ms + (there != d ? transfer_ms : 0));
    }
    entry(way, id, d) = std::max(entry(way, id, d), least);
  }
}

// Nodes of a stretch are numbered in a topological order.
void StretchProgram::find_heads() {
  const Graph& graph = stretch_.graph;
  head_.assign(time_.size(), 0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const NodeId before : graph.predecessors(id)) {
      raise(head_, id, before, reads(graph, before, id) ? output_[at(before)] : 0);
    }
  }
}

void StretchProgram::find_tails() {
  const Graph& graph = stretch_.graph;
  tail_.assign(time_.size(), 0);
  for (NodeId id = graph.size(); id-- > 0;) {
    for (const NodeId next : graph.successors(id)) {
      raise(tail_, id, next, reads(graph, id, next) ? output_[at(id)] : 0);
    }
  }
}

void StretchProgram::find_free_bound() {
  double work = 0;
  double last = 0;  // nothing runs beside the sink
  for (NodeId id = 0; id < stretch_.graph.size(); ++id) {
    double way = kInfinity;
    double time = kInfinity;
    for (DeviceId d = 0; d < cluster_.size(); ++d) {
      if (!may_run(id, d)) continue;
      way = std::min(way, entry(head_, id, d) + entry(time_, id, d) + entry(tail_, id, d));
      time = std::min(time, entry(time_, id, d));
    }
    free_bound_ = std::max(free_bound_, way);
    (id == stretch_.sink ? last : work) += time;
  }
  free_bound_ = std::max(free_bound_, work / cluster_.size() + last);
}

void StretchProgram::find_pairs() {
  const Graph& graph = stretch_.graph;
  if (graph.size() > kMostOrdered) return;
  std::vector<std::vector<bool>> after(at(graph.size()));
  for (NodeId id = graph.size(); id-- > 0;) {
    std::vector<bool>& mine = after[at(id)];
    mine.assign(after.size(), false);
    for (const NodeId next : graph.successors(id)) {
      mine[at(next)] = true;
      for (std::size_t i = at(next); i < mine.size(); ++i) {
        if (after[at(next)][i]) mine[i] = true;
      }
    }
    for (NodeId other = id + 1; other < graph.size(); ++other) {
      if (!mine[at(other)] && !(stretch_.has_source && id == 0)) pairs_.emplace_back(id, other);
    }
    if (pairs_.size() > kMostPairs) return;
  }
  can_order_ = !pairs_.empty();
}

// One device for each unit, memory, and no device on which a node cannot be in time.
void StretchProgram::add_places(Parts& parts) const {
  const int devices = cluster_.size();
  Program& program = parts.program;
  for (UnitId unit = 0; unit < units_.size(); ++unit) {
    parts.first_place.push_back(static_cast<int>(program.columns.size()));
    Program::Row one{1, 1, {}};
    for (DeviceId d = 0; d < devices; ++d) {
      one.entries.emplace_back(program.add({0, 1, 0, true, 1}), 1);
    }
    program.rows.push_back(one);
  }
  for (NodeId id = 0; id < stretch_.graph.size(); ++id) {
    parts.unit_of.push_back(units_.of(id));
    double earliest = kInfinity;
    for (DeviceId d = 0; d < devices; ++d) {
      const double way = entry(head_, id, d) + entry(time_, id, d) + entry(tail_, id, d);
      if (!(way <= parts.below)) program.columns[at(parts.place(id, d))].upper = 0;
      earliest = std::min(earliest, entry(head_, id, d));
    }
    parts.start.push_back(program.add({parts.scaled(earliest), 1, 0, false, 1}));
  }
  for (DeviceId d = 0; d < devices; ++d) {
    const double cap = cluster_.device(d).memory_bytes;
    Program::Row memory{-Program::kFree, 1, {}};
    double all = 0;
    for (UnitId unit = 0; unit < units_.size(); ++unit) {
      all += units_.memory(unit);
      if (cap > 0 && units_.memory(unit) > 0) {
        memory.entries.emplace_back(parts.first_place[at(unit)] + d, units_.memory(unit) / cap);
      }
    }
    if (all > cap) program.rows.push_back(memory);
  }
}

// When nodes begin: after their inputs are there, and no earlier than their heads.
void StretchProgram::add_edges(Parts& parts) const {
  const Graph& graph = stretch_.graph;
  Program& program = parts.program;
  for (NodeId id = 0; id < graph.size(); ++id) {
    Program::Row begins{0, Program::kFree, {{parts.start[at(id)], 1}}};
    Program::Row ends{0, Program::kFree, {{parts.cost, 1}, {parts.start[at(id)], -1}}};
    for (DeviceId d = 0; d < cluster_.size(); ++d) {
      if (program.columns[at(parts.place(id, d))].upper == 0) continue;
      const double rest = entry(time_, id, d) + entry(tail_, id, d);
      begins.entries.emplace_back(parts.place(id, d), -parts.scaled(entry(head_, id, d)));
      ends.entries.emplace_back(parts.place(id, d), -parts.scaled(rest));
    }
    program.rows.push_back(begins);
    program.rows.push_back(ends);
    for (const NodeId next : graph.successors(id)) {
      Program::Row row{0, Program::kFree, {{parts.start[at(next)], 1}, {parts.start[at(id)], -1}}};
      for (DeviceId d = 0; d < cluster_.size(); ++d) {
        if (program.columns[at(parts.place(id, d))].upper == 0) continue;
        row.entries.emplace_back(parts.place(id, d), -parts.scaled(entry(time_, id, d)));
      }
      const bool together = parts.unit_of[at(id)] == parts.unit_of[at(next)];
      if (output_[at(id)] > 0 && !together && reads(graph, id, next)) {
        const int crosses = program.add({0, 1, 0, false, 1});
        row.entries.emplace_back(crosses, -parts.scaled(output_[at(id)]));
        for (DeviceId d = 0; d < cluster_.size(); ++d) {
          parts.row(0).entries = {
              {crosses, 1}, {parts.place(id, d), -1}, {parts.place(next, d), 1}};
        }
      }
      program.rows.push_back(row);
    }
  }
}

// Nodes that share a device run one after the other.
void StretchProgram::add_orders(Parts& parts) const {
  Program& program = parts.program;
  const auto least = [&](const std::vector<double>& table, NodeId id) {
    double found = kInfinity;
    for (DeviceId d = 0; d < cluster_.size(); ++d) found = std::min(found, entry(table, id, d));
    return parts.scaled(found);
  };
  for (const auto& [one, other] : pairs_) {
    const int orders[2] = {program.add({0, 1, 0, true, kOrderPriority}),
                           program.add({0, 1, 0, true, kOrderPriority})};
    const NodeId ids[2] = {one, other};
    for (int i = 0; i < 2; ++i) {
      const NodeId id = ids[i];
      const NodeId next = ids[1 - i];
      // The end of `id` minus the start of `next` is at most this.
      const double most = std::max(0.0, 1 - least(tail_, id) - least(head_, next));
      Program::Row& row = parts.row(-most);
      row.entries = {{parts.start[at(next)], 1}, {parts.start[at(id)], -1}, {orders[i], -most}};
      for (DeviceId d = 0; d < cluster_.size(); ++d) {
        if (program.columns[at(parts.place(id, d))].upper == 0) continue;
        row.entries.emplace_back(parts.place(id, d), -parts.scaled(entry(time_, id, d)));
      }
    }
    parts.row(-1).entries = {{orders[0], -1}, {orders[1], -1}};
    const bool together = parts.unit_of[at(one)] == parts.unit_of[at(other)];
    for (DeviceId d = 0; d < cluster_.size(); ++d) {
      std::vector<std::pair<int, double>> entries = {{orders[0], 1}, {orders[1], 1}};
      entries.emplace_back(parts.place(one, d), together ? -2 : -1);
      if (!together) entries.emplace_back(parts.place(other, d), -1);
      parts.row(-1).entries = std::move(entries);
    }
  }
}

// A device's nodes with late heads and long tails: what they take together lies between the
// earliest head and the shortest tail.
void StretchProgram::add_device_rows(Parts& parts, DeviceId d) const {
  std::vector<NodeId> able;
  std::vector<double> heads, tails;
  for (NodeId id = stretch_.has_source ? 1 : 0; id < stretch_.graph.size(); ++id) {
    if (parts.program.columns[at(parts.place(id, d))].upper == 0) continue;
    able.push_back(id);
    heads.push_back(entry(head_, id, d));
    tails.push_back(entry(tail_, id, d));
  }
  const std::vector<double> late = thresholds(heads);
  const std::vector<double> long_tails = thresholds(tails);
  for (const double head : late) {
    for (const double tail : long_tails) {
      double first = kInfinity;
      double last = kInfinity;
      std::vector<double> times(at(units_.size()), 0);
      for (std::size_t i = 0; i < able.size(); ++i) {
        if (heads[i] < head || tails[i] < tail) continue;
        first = std::min(first, heads[i]);
        last = std::min(last, tails[i]);
        times[at(parts.unit_of[at(able[i])])] += parts.scaled(entry(time_, able[i], d));
      }
      if (!(first < kInfinity)) continue;
      // Where nothing of it runs on the device, the row must not ask for more than is known.
      const double surely = std::min(first + last, free_bound_);
      const double more = parts.scaled(first + last - surely);
      const bool all = head == late.front() && tail == long_tails.front();
      Program::Row row{parts.scaled(surely), Program::kFree, {{parts.cost, 1}}};
      const int used = more > 0 && all ? parts.program.add({0, 1, 0, false, 1}) : -1;
      if (used >= 0) row.entries.emplace_back(used, -more);
      for (UnitId unit = 0; unit < units_.size(); ++unit) {
        if (times[at(unit)] <= 0) continue;
        const int place = parts.first_place[at(unit)] + d;
        row.entries.emplace_back(place, -times[at(unit)]);
        if (used >= 0) parts.row(0).entries = {{used, 1}, {place, -1}};
      }
      parts.program.rows.push_back(row);
    }
  }
}

// Of devices that are alike and hold no waist, the earlier one has no less work.
void StretchProgram::add_symmetry(Parts& parts) const {
  DeviceId before = -1;
  for (DeviceId d = 0; d < cluster_.size(); ++d) {
    if (d == ends_.source || d == ends_.sink) continue;
    const DeviceId earlier = std::exchange(before, d);
    if (earlier < 0) continue;
    const Device& one = cluster_.device(earlier);
    const Device& other = cluster_.device(d);
    const bool alike = one.kind == other.kind && one.speed == other.speed &&
                       one.memory_bytes == other.memory_bytes;
    if (!alike) continue;
    Program::Row& row = parts.row(0);
    for (UnitId unit = 0; unit < units_.size(); ++unit) {
      const double time = units_.time_ms(unit, d);
      if (!(time > 0) || !(time < kInfinity)) continue;
      row.entries.emplace_back(parts.first_place[at(unit)] + earlier, parts.scaled(time));
      row.entries.emplace_back(parts.first_place[at(unit)] + d, -parts.scaled(time));
    }
  }
}

Program StretchProgram::program(double below, bool with_orders) const {
  Parts parts;
  parts.below = below;
  parts.cost = parts.program.add({std::min(1.0, free_bound_ / below), 1, 1, false, 1});
  add_places(parts);
  add_edges(parts);
  for (DeviceId d = 0; d < cluster_.size(); ++d) add_device_rows(parts, d);
  add_symmetry(parts);
  if (with_orders) add_orders(parts);
  return std::move(parts.program);
}

std::vector<DeviceId> StretchProgram::devices(const std::vector<double>& solution) const {
  std::vector<DeviceId> devices;
  std::size_t column = 1;  // behind the cost
  for (UnitId unit = 0; unit < units_.size(); ++unit) {
    const auto first = solution.begin() + static_cast<std::ptrdiff_t>(column);
    devices.push_back(
        static_cast<DeviceId>(std::max_element(first, first + cluster_.size()) - first));
    column += at(cluster_.size());
  }
  return devices;
}

}  // namespace optile::placement
