#include "sched/simulation/running_set.h"

#include <algorithm>
#include <limits>

namespace optile::sched {
namespace {

// Two ends that differ by less are one moment: what rounding leaves of equal times.
constexpr double kSameMoment = 1e-12;

}  // namespace

RunningSet::RunningSet(const CoreMap& map, const perfmodel::Interference& model)
    : map_(&map), model_(&model) {}

void RunningSet::clear() {
  ops_.clear();
  left_.clear();
  slowdown_.clear();
  for (LoadLevels* levels : {&threads_, &own_, &siblings_, &tile_users_}) levels->clear();
  settled_ = false;
}

void RunningSet::add(SimulatedOp op, double seconds) {
  std::vector<int> node_used(static_cast<std::size_t>(map_->nodes), 0);
  op.speed = 1.0;
  int last_tile = -1;
  int width = 0;
  op.tile_count = 0;
  op.cores.each([&](int slot) {
    const auto index = static_cast<std::size_t>(slot);
    op.speed = std::min(op.speed, map_->speed[index]);
    ++width;
    if (map_->tile_of[index] == last_tile) return;
    last_tile = map_->tile_of[index];
    op.tiles.add(last_tile);
    ++op.tile_count;
    node_used[static_cast<std::size_t>(map_->tiles[static_cast<std::size_t>(last_tile)].node)] = 1;
  });
  const auto nodes = std::count(node_used.begin(), node_used.end(), 1);
  const int largest = *std::max_element(map_->node_cores.begin(), map_->node_cores.end());
  op.crosses_nodes = nodes > (width + largest - 1) / largest;
  for (int i = 0; i < op.threads_per_core; ++i) threads_.add(op.cores);
  tile_users_.add(op.tiles);
  if (op.placement == Placement::kOwnCores) own_.add(op.cores);
  if (op.placement == Placement::kSiblings) siblings_.add(op.cores);
  left_.push_back(seconds);
  slowdown_.push_back(1.0);
  ops_.push_back(op);
  settled_ = false;
}

void RunningSet::forget(const SimulatedOp& op) {
  for (int i = 0; i < op.threads_per_core; ++i) threads_.remove(op.cores);
  tile_users_.remove(op.tiles);
  if (op.placement == Placement::kOwnCores) own_.remove(op.cores);
  if (op.placement == Placement::kSiblings) siblings_.remove(op.cores);
}

void RunningSet::settle() {
  if (settled_) return;
  settled_ = true;
  double total_draw = 0;
  for (const SimulatedOp& op : ops_) total_draw += op.draw;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const SimulatedOp& op = ops_[i];
    perfmodel::Presence presence;
    presence.memory_share = op.memory_share;
    presence.draw = op.draw;
    presence.threads_per_core = op.threads_per_core;
    presence.crosses_nodes = op.crosses_nodes;
    if (ops_.size() > 1) {
      presence.shared_tiles = static_cast<double>(tile_users_.shared(op.tiles)) / op.tile_count;
      presence.threads_on_cores = threads_.most(op.cores);
    }
    slowdown_[i] = model_->slowdown(presence, total_draw) / op.speed;
  }
}

double RunningSet::time_to_next() {
  settle();
  double next = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < ops_.size(); ++i) next = std::min(next, left_[i] * slowdown_[i]);
  return std::max(next, 0.0);
}

void RunningSet::advance(double seconds, std::vector<SimulatedOp>* ended) {
  settle();
  const double moment = seconds * (1 + kSameMoment);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (left_[i] * slowdown_[i] <= moment) {
      forget(ops_[i]);
      ended->push_back(ops_[i]);
      continue;
    }
    left_[kept] = left_[i] - seconds / slowdown_[i];
    if (kept != i) ops_[kept] = ops_[i];
    ++kept;
  }
  if (kept != ops_.size()) settled_ = false;
  // Every kept op has its own factor until the set changes: keep them in step.
  if (!settled_) slowdown_.resize(kept);
  ops_.resize(kept);
  left_.resize(kept);
}

}  // namespace optile::sched
