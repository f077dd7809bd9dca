#include "placement/strategy/dual_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace optile::placement {
namespace {

// A part of the grid steps of `value`, rounded down, so that all parts are no more than it.
double part_of(double value, std::int64_t parts) {
  const std::int64_t steps = static_cast<std::int64_t>(value * kGrid) / parts;
  return static_cast<double>(steps) / kGrid;
}

std::uint16_t where_least(const std::vector<double>& values) {
  return static_cast<std::uint16_t>(std::min_element(values.begin(), values.end()) -
                                    values.begin());
}

}  // namespace

DualBound::DualBound(const Core& core) : core_(core) {
  std::size_t size = 0;
  for (const CoreEdge& edge : core.edges) {
    to_first_.push_back(size);
    size += core.nodes[edge.first].costs.size();
    to_second_.push_back(size);
    size += core.nodes[edge.second].costs.size();
  }
  messages_.assign(size, 0);
  for (const CoreNode& node : core.nodes) costs_.push_back(node.costs);
  find_hanging();
  for (std::uint32_t i = 0; i < core.nodes.size(); ++i) {
    int before = 0;
    int after = 0;
    for (const CoreNeighbour& other : core.neighbours[i]) {
      if (hangs_[other.node] == 0) ++(other.node < i ? before : after);
    }
    chains_.push_back(std::max({1, before, after}));
  }
  raise_hanging();
}

void DualBound::find_hanging() {
  const std::size_t count = core_.nodes.size();
  hangs_.assign(count, 0);
  std::vector<std::size_t> degree(count);
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t i = 0; i < count; ++i) {
    degree[i] = core_.neighbours[i].size();
    if (degree[i] == 1) leaves.push_back(i);
  }
  while (!leaves.empty()) {
    const std::uint32_t leaf = leaves.back();
    leaves.pop_back();
    if (degree[leaf] != 1) continue;  // the last of its tree
    for (const CoreNeighbour& other : core_.neighbours[leaf]) {
      if (hangs_[other.node] != 0) continue;
      hanging_.push_back({leaf, other});
      hangs_[leaf] = 1;
      if (--degree[other.node] == 1) leaves.push_back(other.node);
    }
  }
}

double* DualBound::message_to(const CoreNeighbour& to) {
  return &messages_[to.is_first ? to_second_[to.edge] : to_first_[to.edge]];
}

const double* DualBound::message_from(const CoreNeighbour& from) const {
  return &messages_[from.is_first ? to_first_[from.edge] : to_second_[from.edge]];
}

void DualBound::set_prices(const MemoryPrices& prices) {
  for (std::size_t i = 0; i < core_.nodes.size(); ++i) {
    const CoreNode& node = core_.nodes[i];
    for (std::size_t s = 0; s < node.costs.size(); ++s) {
      costs_[i][s] = std::min(kWall, node.costs[s] + prices.paid(node.live, node.usages[s]));
    }
  }
  worth_of_room_ = prices.worth_of_room();
  raise_hanging();
}

void DualBound::gather(std::uint32_t node, std::vector<double>& into) const {
  into = costs_[node];
  const std::size_t count = into.size();
  for (const CoreNeighbour& other : core_.neighbours[node]) {
    const double* message = message_from(other);
    for (std::size_t s = 0; s < count; ++s) into[s] += message[s];
  }
  for (double& cost : into) cost = std::min(cost, kWall);
}

// The message is the least of what the sender's strategies cost with each of the receiver's.
void DualBound::send(std::uint32_t node, const CoreNeighbour& to,
                     const std::vector<double>& share) {
  const double* back = message_from(to);
  double* message = message_to(to);
  const std::size_t count = core_.nodes[to.node].costs.size();
  std::fill(message, message + count, 2 * kWall);
  for (std::size_t s = 0; s < core_.nodes[node].costs.size(); ++s) {
    const double own = share[s] - back[s];
    const double* row = core_.row(to, static_cast<std::uint16_t>(s));
    for (std::size_t k = 0; k < count; ++k) message[k] = std::min(message[k], own + row[k]);
  }
}

// Takes the least entry out of the message just sent, and returns it in steps of the grid.
Total DualBound::normalise(const CoreNeighbour& to) {
  double* message = message_to(to);
  const std::size_t count = core_.nodes[to.node].costs.size();
  const double least = *std::min_element(message, message + count);
  for (std::size_t k = 0; k < count; ++k) message[k] = std::min(kWall, message[k] - least);
  return grid_steps(least);
}

void DualBound::raise_hanging() {
  hanging_bound_ = 0;
  for (const Hanging& leaf : hanging_) {
    // Only what hangs below has sent to the leaf; what its parent sends stays 0.
    gather(leaf.node, here_);
    send(leaf.node, leaf.up, here_);
    hanging_bound_ += normalise(leaf.up);
  }
}

Total DualBound::sweep_node(std::uint32_t node, bool forward) {
  gather(node, here_);
  const double least = *std::min_element(here_.begin(), here_.end());
  for (double& cost : here_) cost = part_of(cost - least, chains_[node]);
  Total bound = grid_steps(least);
  for (const CoreNeighbour& to : core_.neighbours[node]) {
    if (hangs_[to.node] != 0 || (to.node > node) != forward) continue;
    send(node, to, here_);
    bound += normalise(to);
  }
  return bound;
}

double DualBound::sweep() {
  const auto count = static_cast<std::uint32_t>(core_.nodes.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (hangs_[i] == 0) sweep_node(i, true);
  }
  Total bound = hanging_bound_ + grid_steps(core_.constant) - worth_of_room_;
  for (std::uint32_t i = count; i-- > 0;) {
    if (hangs_[i] == 0) bound += sweep_node(i, false);
  }
  return rounded_down(bound) / kGrid;
}

std::uint16_t DualBound::best_reply(const Hanging& leaf, std::uint16_t parent) const {
  std::vector<double> costs;
  gather(leaf.node, costs);
  for (std::size_t s = 0; s < costs.size(); ++s) {
    costs[s] += core_.row(leaf.up, static_cast<std::uint16_t>(s))[parent];
  }
  return where_least(costs);
}

void DualBound::settle_hanging(std::vector<std::uint16_t>& values) const {
  for (auto leaf = hanging_.rbegin(); leaf != hanging_.rend(); ++leaf) {
    values[leaf->node] = best_reply(*leaf, values[leaf->up.node]);
  }
}

std::vector<std::uint16_t> DualBound::decode() const {
  std::vector<std::uint16_t> values(core_.nodes.size(), 0);
  std::vector<double> costs;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (hangs_[i] != 0) continue;
    costs = costs_[i];
    for (const CoreNeighbour& other : core_.neighbours[i]) {
      if (other.node < i && hangs_[other.node] == 0) {
        CoreNeighbour back = other;
        back.is_first = !other.is_first;
        const double* row = core_.row(back, values[other.node]);
        for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += row[s];
      } else {
        const double* message = message_from(other);
        for (std::size_t s = 0; s < costs.size(); ++s) costs[s] += message[s];
      }
    }
    values[i] = where_least(costs);
  }
  settle_hanging(values);
  return values;
}

std::vector<std::vector<std::uint16_t>> DualBound::ranked() const {
  std::vector<std::vector<std::uint16_t>> ranked(core_.nodes.size());
  std::vector<double> costs;
  for (std::uint32_t i = 0; i < ranked.size(); ++i) {
    ranked[i].resize(core_.nodes[i].costs.size());
    std::iota(ranked[i].begin(), ranked[i].end(), std::uint16_t{0});
    if (hangs_[i] != 0) continue;
    gather(i, costs);
    std::stable_sort(ranked[i].begin(), ranked[i].end(),
                     [&](std::uint16_t a, std::uint16_t b) { return costs[a] < costs[b]; });
  }
  return ranked;
}

std::vector<std::uint16_t> DualBound::minima() const {
  std::vector<std::uint16_t> values(core_.nodes.size(), 0);
  std::vector<double> costs;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (hangs_[i] != 0) continue;
    gather(i, costs);
    values[i] = where_least(costs);
  }
  settle_hanging(values);
  return values;
}

}  // namespace optile::placement
