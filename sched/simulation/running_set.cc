#include "sched/simulation/running_set.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace optile::sched {
namespace {

// Two ends that differ by less are one moment: what rounding leaves of equal times.
constexpr double kSameMoment = 1e-12;

}  // namespace

RunningSet::RunningSet(const CoreMap& map, const perfmodel::Interference& model)
    : map_(&map),
      model_(model),
      largest_node_(*std::max_element(map.node_cores.begin(), map.node_cores.end())) {
  // Without second hardware threads a core only divides its time.
  if (map.hardware_threads < 2) model_.two_threads_gain = std::min(model_.two_threads_gain, 1.0);
}

void RunningSet::clear() {
  order_.clear();
  ops_.clear();
  unused_.clear();
  threads_.clear();
  tile_users_.clear();
  own_ = {};
  siblings_ = {};
  settled_ = false;
}

// What its cores are: their tiles, the slowest of them, whether its threads are far apart.
void RunningSet::locate(SimulatedOp* op) const {
  const CoreSet& cores = op->cores;
  cores.each_group(map_->tile_bits, [&](int slot, std::uint64_t /*bits*/) {
    op->tiles.add(map_->tile_of[static_cast<std::size_t>(slot)]);
  });
  op->tile_count = op->tiles.count();
  if (map_->nodes > 1) {
    const auto nodes =
        std::count_if(map_->node_tiles.begin(), map_->node_tiles.end(),
                      [op](const CoreSet& node) { return node.overlaps(op->tiles); });
    op->crosses_nodes = nodes > (cores.count() + largest_node_ - 1) / largest_node_;
  }
  if (!map_->one_speed) {
    cores.each([&](int slot) {
      op->speed = std::min(op->speed, map_->speed[static_cast<std::size_t>(slot)]);
    });
  }
}

void RunningSet::add(const SimulatedOp& op, double seconds) {
  std::size_t index = ops_.size();
  if (unused_.empty()) {
    ops_.push_back(op);
  } else {
    index = unused_.back();
    unused_.pop_back();
    ops_[index] = op;
  }
  SimulatedOp& here = ops_[index];
  here.tiles = {};
  here.tile_count = 0;
  here.crosses_nodes = false;
  here.speed = 1.0;
  locate(&here);
  for (int i = 0; i < here.threads_per_core; ++i) threads_.add(here.cores);
  tile_users_.add(here.tiles);
  if (here.placement == Placement::kOwnCores) own_ |= here.cores;
  if (here.placement == Placement::kSiblings) siblings_ |= here.cores;
  order_.push_back({index, seconds, 1.0});
  settled_ = false;
}

void RunningSet::forget(const SimulatedOp& op) {
  for (int i = 0; i < op.threads_per_core; ++i) threads_.remove(op.cores);
  tile_users_.remove(op.tiles);
  if (op.placement == Placement::kOwnCores) own_ -= op.cores;
  if (op.placement == Placement::kSiblings) siblings_ -= op.cores;
}

void RunningSet::settle() {
  if (settled_) return;
  settled_ = true;
  double total_draw = 0;
  for (const Progress& one : order_) total_draw += ops_[one.op].draw;
  for (Progress& one : order_) {
    const SimulatedOp& op = ops_[one.op];
    perfmodel::Presence presence;
    presence.memory_share = op.memory_share;
    presence.draw = op.draw;
    presence.threads_per_core = op.threads_per_core;
    presence.crosses_nodes = op.crosses_nodes;
    presence.shared_tiles = static_cast<double>(tile_users_.shared(op.tiles)) / op.tile_count;
    // Where no core has a second thread, it has none of another op.
    if (threads_.depth() > 1) presence.threads_on_cores = threads_.most(op.cores);
    one.slowdown = model_.slowdown(presence, total_draw) / op.speed;
  }
}

double RunningSet::time_to_next() {
  settle();
  double next = std::numeric_limits<double>::infinity();
  for (const Progress& one : order_) next = std::min(next, one.left * one.slowdown);
  return std::max(next, 0.0);
}

void RunningSet::advance(double seconds, std::vector<EndedOp>* ended) {
  settle();
  const double moment = seconds * (1 + kSameMoment);
  std::size_t kept = 0;
  for (const Progress& one : order_) {
    if (one.left * one.slowdown <= moment) {
      const SimulatedOp& op = ops_[one.op];
      forget(op);
      ended->push_back({op.node, op.lane, op.span, op.placement});
      unused_.push_back(one.op);
      continue;
    }
    order_[kept] = one;
    order_[kept].left -= seconds / one.slowdown;
    ++kept;
  }
  if (kept != order_.size()) settled_ = false;
  order_.resize(kept);
}

}  // namespace optile::sched
