#include "placement/load/contiguity.h"

#include <algorithm>

#include "placement/neighbours.h"

namespace optile::placement {
namespace {

using Arrows = std::vector<std::vector<UnitId>>;

std::vector<bool> with_forward(const Graph& graph, const Units& units) {
  std::vector<bool> forward(static_cast<std::size_t>(units.size()));
  bool any = false;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).backward) continue;
    forward[static_cast<std::size_t>(units.of(id))] = true;
    any = true;
  }
  if (!any) forward.assign(forward.size(), true);
  return forward;
}

// Each unit's leader: itself, or for one of the backward pass alone the unit it goes with.
std::vector<UnitId> leaders(const Units& units, const std::vector<bool>& forward) {
  std::vector<UnitId> leader(forward.size(), -1);
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (forward[i]) leader[i] = static_cast<UnitId>(i);
  }
  follow_neighbours(units, &Net::ms, leader);
  for (std::size_t i = 0; i < leader.size(); ++i) {
    if (leader[i] < 0) leader[i] = static_cast<UnitId>(i);
  }
  return leader;
}

// Tarjan's strongly connected components, without recursion: graphs are deep.
class Components {
 public:
  explicit Components(const Arrows& arrows)
      : arrows_(arrows),
        number_(arrows.size(), -1),
        low_(arrows.size()),
        next_(arrows.size()),
        component_(arrows.size(), -1) {
    for (std::size_t i = 0; i < arrows.size(); ++i) {
      if (number_[i] < 0) visit(static_cast<UnitId>(i));
    }
  }
  const std::vector<UnitId>& of() const { return component_; }
  int count() const { return count_; }

 private:
  void enter(UnitId unit) {
    const auto at = static_cast<std::size_t>(unit);
    number_[at] = low_[at] = time_++;
    path_.push_back(unit);
    open_.push_back(unit);
  }
  void visit(UnitId root) {
    enter(root);
    while (!path_.empty()) {
      const UnitId unit = path_.back();
      const auto at = static_cast<std::size_t>(unit);
      if (next_[at] < arrows_[at].size()) {
        const UnitId other = arrows_[at][next_[at]++];
        const auto there = static_cast<std::size_t>(other);
        if (number_[there] < 0) {
          enter(other);
        } else if (component_[there] < 0) {
          low_[at] = std::min(low_[at], number_[there]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        int& low = low_[static_cast<std::size_t>(path_.back())];
        low = std::min(low, low_[at]);
      }
      if (low_[at] != number_[at]) continue;
      UnitId member = -1;
      do {
        member = open_.back();
        open_.pop_back();
        component_[static_cast<std::size_t>(member)] = count_;
      } while (member != unit);
      ++count_;
    }
  }
  const Arrows& arrows_;
  std::vector<int> number_, low_;
  std::vector<std::size_t> next_;
  std::vector<UnitId> component_, path_, open_;
  int time_ = 0;
  int count_ = 0;
};

void sort_once(Arrows& arrows) {
  for (auto& row : arrows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
}

}  // namespace

Pieces forward_pieces(const Graph& graph, const Units& units) {
  const std::vector<bool> forward = with_forward(graph, units);
  const std::vector<UnitId> leader = leaders(units, forward);
  bool any_forward = false;
  for (const Node& node : graph.nodes()) any_forward = any_forward || !node.backward;
  Arrows arrows(leader.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (any_forward && graph.node(id).backward) continue;
    const UnitId from = leader[static_cast<std::size_t>(units.of(id))];
    for (const NodeId next : graph.successors(id)) {
      if (any_forward && graph.node(next).backward) continue;
      const UnitId to = leader[static_cast<std::size_t>(units.of(next))];
      if (to != from) arrows[static_cast<std::size_t>(from)].push_back(to);
    }
  }
  sort_once(arrows);
  const Components components(arrows);
  // Tarjan numbers components from the last to the first; followers have none of their own.
  std::vector<UnitId> rank(static_cast<std::size_t>(components.count()), -1);
  Pieces pieces;
  pieces.of_unit.resize(leader.size());
  for (int c = components.count() - 1; c >= 0; --c) rank[static_cast<std::size_t>(c)] = -1;
  std::vector<bool> used(rank.size());
  for (const UnitId unit : leader) {
    used[static_cast<std::size_t>(components.of()[static_cast<std::size_t>(unit)])] = true;
  }
  for (std::size_t c = rank.size(); c-- > 0;) {
    if (used[c]) rank[c] = pieces.count++;
  }
  const auto piece_of = [&](UnitId unit) {
    return rank[static_cast<std::size_t>(components.of()[static_cast<std::size_t>(unit)])];
  };
  for (std::size_t i = 0; i < leader.size(); ++i) pieces.of_unit[i] = piece_of(leader[i]);
  pieces.before.resize(static_cast<std::size_t>(pieces.count));
  pieces.after.resize(static_cast<std::size_t>(pieces.count));
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    for (const UnitId to : arrows[i]) {
      const UnitId a = piece_of(static_cast<UnitId>(i));
      const UnitId b = piece_of(to);
      if (a == b) continue;
      pieces.after[static_cast<std::size_t>(a)].push_back(b);
      pieces.before[static_cast<std::size_t>(b)].push_back(a);
    }
  }
  sort_once(pieces.before);
  sort_once(pieces.after);
  return pieces;
}

}  // namespace optile::placement
