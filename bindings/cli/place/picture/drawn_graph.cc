#include "bindings/cli/place/picture/drawn_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/at.h"

namespace optile::cli {
namespace {

using base::at;

using placement::Cluster;
using placement::DeviceId;
using placement::Graph;
using placement::NodeId;

constexpr int kEachItsBox = 40;  // nodes, up to which none are joined
constexpr int kMostRounds = 12;  // of joining
constexpr std::size_t kMostBoxes = 420;
constexpr int kColumnsALine = 40;
constexpr int kMostRows = 24;       // of a column
constexpr double kMostHeight = 64;  // of all lines together, in rows
constexpr int kStretches = 80;

using Pairs = std::vector<std::pair<int, int>>;

void once_each(Pairs& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

// Which box each node belongs to: numbers from 0 on, in the topological order of first nodes.
class Joining {
 public:
  Joining(const Graph& graph, const std::vector<DeviceId>& assignment)
      : graph_(graph), assignment_(assignment), above_(at(graph.size())) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  std::vector<int> boxes() {
    for (int round = 0; graph_.size() > kEachItsBox && round < kMostRounds && join(); ++round) {
    }
    std::vector<int> number(above_.size(), -1);
    std::vector<int> box(above_.size());
    int count = 0;
    for (const NodeId id : graph_.order()) {
      int& mine = number[at(top(id))];
      if (mine < 0) mine = count++;
      box[at(id)] = mine;
    }
    return box;
  }

 private:
  int top(int id) {
    while (above_[at(id)] != id) {
      above_[at(id)] = above_[at(above_[at(id)])];
      id = above_[at(id)];
    }
    return id;
  }
  bool join() {
    Pairs arrows;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (const NodeId next : graph_.successors(id)) {
        if (top(id) != top(next)) arrows.emplace_back(top(id), top(next));
      }
    }
    once_each(arrows);
    std::vector<int> in(above_.size(), 0);
    std::vector<int> out(above_.size(), 0);
    for (const auto& [from, to] : arrows) {
      ++out[at(from)];
      ++in[at(to)];
    }
    bool joined = false;
    for (const auto& [from, to] : arrows) {
      if (assignment_[at(from)] != assignment_[at(to)]) continue;
      const bool follows = out[at(from)] == 1 && in[at(to)] == 1;
      const bool feeds = out[at(from)] == 1 && in[at(from)] == 0;
      const bool ends = in[at(to)] == 1 && out[at(to)] == 0;
      if (!follows && !feeds && !ends) continue;
      above_[at(top(from))] = top(to);
      joined = true;
    }
    return joined;
  }

  const Graph& graph_;
  const std::vector<DeviceId>& assignment_;
  std::vector<int> above_;
};

// The longest way from a beginning, in steps; what begins stands right before what it feeds.
std::vector<int> levels(int count, const Pairs& arrows) {
  std::vector<std::vector<int>> after(at(count));
  std::vector<int> waiting(at(count), 0);
  for (const auto& [from, to] : arrows) {
    after[at(from)].push_back(to);
    ++waiting[at(to)];
  }
  std::vector<int> level(at(count), 0);
  std::vector<int> ready;
  std::vector<int> begins;
  for (int i = 0; i < count; ++i) {
    if (waiting[at(i)] == 0) ready.push_back(i);
  }
  begins = ready;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (const int next : after[at(ready[i])]) {
      level[at(next)] = std::max(level[at(next)], level[at(ready[i])] + 1);
      if (--waiting[at(next)] == 0) ready.push_back(next);
    }
  }
  for (const int begin : begins) {
    if (after[at(begin)].empty()) continue;
    int first = level[at(after[at(begin)].front())];
    for (const int next : after[at(begin)]) first = std::min(first, level[at(next)]);
    level[at(begin)] = first - 1;
  }
  return level;
}

void add_flows(const Graph& graph, const std::vector<int>& box, DrawnGraph& drawn) {
  std::vector<std::tuple<int, int, double>> all;
  std::vector<int> readers;
  for (NodeId id = 0; id < graph.size(); ++id) {
    readers.clear();
    for (const NodeId next : graph.readers(id)) {
      if (box[at(next)] != box[at(id)]) readers.push_back(box[at(next)]);
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    const double bytes = graph.node(id).output_bytes;
    for (const int reader : readers) all.emplace_back(box[at(id)], reader, bytes);
  }
  std::sort(all.begin(), all.end());
  for (const auto& [from, to, bytes] : all) {
    const bool known =
        !drawn.flows.empty() && drawn.flows.back().from == from && drawn.flows.back().to == to;
    if (!known) drawn.flows.push_back({from, to, 0});
    drawn.flows.back().bytes += bytes;
  }
}

void fill_boxes(const Graph& graph, const Cluster& cluster, const std::vector<DeviceId>& assignment,
                const std::vector<int>& box, DrawnGraph& drawn) {
  drawn.crossing_bytes.assign(at(drawn.columns), 0);
  for (const NodeId id : graph.order()) {
    DrawnBox& mine = drawn.boxes[at(box[at(id)])];
    if (mine.nodes++ == 0) mine.first = id;
    mine.device = assignment[at(id)];
    mine.ms += cluster.time_ms(graph.node(id), mine.device);
    std::vector<DeviceId> there;
    for (const NodeId reader : graph.readers(id)) {
      if (assignment[at(reader)] != mine.device) there.push_back(assignment[at(reader)]);
    }
    std::sort(there.begin(), there.end());
    const auto devices = std::unique(there.begin(), there.end()) - there.begin();
    drawn.crossing_bytes[at(mine.column)] +=
        static_cast<double>(devices) * graph.node(id).output_bytes;
  }
}

// Where in its line each box stands: near what it is fed by, at least a row from its neighbours.
class Rows {
 public:
  explicit Rows(DrawnGraph& drawn)
      : drawn_(drawn), columns_(at(drawn.columns)), before_(drawn.boxes.size()) {
    for (std::size_t i = 0; i < drawn.boxes.size(); ++i) {
      columns_[at(drawn.boxes[i].column)].push_back(static_cast<int>(i));
    }
    for (const DrawnFlow& flow : drawn.flows) {
      if (line(flow.from) == line(flow.to)) before_[at(flow.to)].push_back(flow.from);
    }
  }

  std::size_t largest() const {
    std::size_t most = 0;
    for (const auto& column : columns_) most = std::max(most, column.size());
    return most;
  }

  void set() {
    const int lines = (drawn_.columns + drawn_.columns_a_line - 1) / drawn_.columns_a_line;
    drawn_.rows.assign(at(lines), 1);
    std::vector<double> top(at(lines), 0);
    std::vector<double> bottom(at(lines), 0);
    for (const std::vector<int>& column : columns_) {
      if (column.empty()) continue;
      set_column(column);
      const std::size_t own = at(line(column.front()));
      for (const int box : column) {
        top[own] = std::min(top[own], drawn_.boxes[at(box)].row);
        bottom[own] = std::max(bottom[own], drawn_.boxes[at(box)].row);
      }
    }
    for (std::size_t i = 0; i < drawn_.boxes.size(); ++i) {
      drawn_.boxes[i].row -= top[at(line(static_cast<int>(i)))];
    }
    for (std::size_t i = 0; i < top.size(); ++i) drawn_.rows[i] = bottom[i] - top[i] + 1;
  }

 private:
  int line(int box) const { return drawn_.boxes[at(box)].column / drawn_.columns_a_line; }
  void set_column(const std::vector<int>& column) {
    std::vector<std::pair<double, int>> wanted;
    double spread = 0;
    for (const int box : column) {
      double sum = 0;
      for (const int from : before_[at(box)]) sum += drawn_.boxes[at(from)].row;
      const auto count = static_cast<double>(before_[at(box)].size());
      // What nothing feeds stands at the edge: below.
      wanted.emplace_back(count > 0 ? sum / count : 1e6, box);
    }
    std::sort(wanted.begin(), wanted.end());
    double last = -1e9;
    double shift = 0;
    int fed = 0;
    for (const auto& [want, box] : wanted) {
      const double row = want < 1e6 ? std::max(want, last + 1) : std::max(0.0, last + 1);
      if (want < 1e6) {
        shift += row - want;
        ++fed;
      }
      drawn_.boxes[at(box)].row = last = row;
      spread = std::max(spread, std::abs(row));
    }
    const double most = static_cast<double>(kMostRows) / 2;
    const bool far = spread > most;
    // Neither drifting away over many columns nor leaning to one side.
    const double by = far ? 0 : (fed > 0 ? shift / fed : 0);
    double far_row = -static_cast<double>(wanted.size() - 1) / 2;
    for (const auto& [want, box] : wanted) {
      double& row = drawn_.boxes[at(box)].row;
      row = far ? far_row++ : row - by;
    }
  }

  DrawnGraph& drawn_;
  std::vector<std::vector<int>> columns_;
  std::vector<std::vector<int>> before_;
};

Pairs arrows_between(const Graph& graph, const std::vector<int>& box) {
  Pairs arrows;
  for (NodeId id = 0; id < graph.size(); ++id) {
    for (const NodeId next : graph.successors(id)) {
      if (box[at(id)] != box[at(next)]) {
        arrows.emplace_back(box[at(id)], box[at(next)]);
      }
    }
  }
  once_each(arrows);
  return arrows;
}

bool draw_boxes(const Graph& graph, const Cluster& cluster, const std::vector<DeviceId>& assignment,
                DrawnGraph& drawn) {
  const std::vector<int> box = Joining(graph, assignment).boxes();
  const int count = *std::max_element(box.begin(), box.end()) + 1;
  if (at(count) > kMostBoxes) return false;
  const std::vector<int> level = levels(count, arrows_between(graph, box));
  drawn.boxes.resize(at(count));
  for (std::size_t i = 0; i < drawn.boxes.size(); ++i) drawn.boxes[i].column = level[i];
  drawn.columns = *std::max_element(level.begin(), level.end()) + 1;
  const int lines = (drawn.columns + kColumnsALine - 1) / kColumnsALine;
  drawn.columns_a_line = (drawn.columns + lines - 1) / lines;
  fill_boxes(graph, cluster, assignment, box, drawn);
  add_flows(graph, box, drawn);
  Rows rows(drawn);
  if (rows.largest() > kMostRows) return false;
  rows.set();
  return std::accumulate(drawn.rows.begin(), drawn.rows.end(), 0.0) <= kMostHeight;
}

void draw_stretches(const Graph& graph, const Cluster& cluster,
                    const std::vector<DeviceId>& assignment, DrawnGraph& drawn) {
  std::vector<int> each(at(graph.size()));
  std::iota(each.begin(), each.end(), 0);
  const std::vector<int> level = levels(graph.size(), arrows_between(graph, each));
  const int count = *std::max_element(level.begin(), level.end()) + 1;
  drawn.stretches = true;
  drawn.columns = std::min(count, kStretches);
  drawn.columns_a_line = drawn.columns;
  drawn.rows = {1};
  const auto column = [&](NodeId id) {
    return static_cast<int>(static_cast<std::int64_t>(level[at(id)]) * drawn.columns / count);
  };
  Pairs keys;
  for (NodeId id = 0; id < graph.size(); ++id) keys.emplace_back(column(id), assignment[at(id)]);
  once_each(keys);
  for (const auto& [column_of_box, device] : keys) {
    DrawnBox box;
    box.column = column_of_box;
    box.device = device;
    drawn.boxes.push_back(box);
  }
  std::vector<int> box;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::pair key(column(id), assignment[at(id)]);
    box.push_back(static_cast<int>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin()));
  }
  fill_boxes(graph, cluster, assignment, box, drawn);
  add_flows(graph, box, drawn);
}

}  // namespace

DrawnGraph drawn_graph(const Graph& graph, const Cluster& cluster,
                       const std::vector<DeviceId>& assignment) {
  DrawnGraph drawn;
  if (draw_boxes(graph, cluster, assignment, drawn)) return drawn;
  drawn = {};
  draw_stretches(graph, cluster, assignment, drawn);
  return drawn;
}

}  // namespace optile::cli
