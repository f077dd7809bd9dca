#include "sched/strategies/running_ops.h"

#include <algorithm>

#include "base/hash.h"

namespace optile::sched {

std::uint64_t node_fingerprint(int node) {
  const auto word = static_cast<std::uint64_t>(node) + 1;
  return base::hash_word(word, base::hash_word(word, base::kHashSeed));
}

void RunningOps::clear(InterferenceMemory* memory) {
  ops_.clear();
  memory->nothing_runs();
  fingerprint_ = 0;
}

void RunningOps::add(const Launch& launch, int instance, double now, InterferenceMemory* memory) {
  memory->started(instance);
  ops_.push_back({launch.node, instance, now, launch.predicted_seconds, launch.placement,
                  launch.cores, -1, 0.0});
  fingerprint_ ^= node_fingerprint(launch.node);
}

RunningOp RunningOps::finish(int node, double now, InterferenceMemory* memory) {
  const auto found = std::find_if(ops_.begin(), ops_.end(),
                                  [node](const RunningOp& op) { return op.node == node; });
  if (found == ops_.end()) return {};
  RunningOp gone = *found;
  memory->ended(gone.instance);
  *found = ops_.back();
  ops_.pop_back();
  fingerprint_ ^= node_fingerprint(node);
  bool on_siblings = gone.placement == Placement::kSiblings;
  for (RunningOp& other : ops_) {
    const double beside = now - std::max(gone.start, other.start);
    on_siblings = on_siblings || other.placement == Placement::kSiblings;
    if (beside > other.beside_seconds) {
      other.beside_seconds = beside;
      other.partner = gone.instance;
    }
    if (beside > gone.beside_seconds) {
      gone.beside_seconds = beside;
      gone.partner = other.instance;
    }
  }
  const double limit = on_siblings ? limits_.siblings : limits_.own_cores;
  if (gone.partner >= 0 && now - gone.start > limit * gone.predicted_seconds) {
    memory->record(gone.instance, gone.partner);
  }
  return gone;
}

double RunningOps::longest_remaining(double now) const {
  double longest = 0;
  for (const RunningOp& op : ops_) {
    if (op.placement == Placement::kSiblings) continue;
    longest = std::max(longest, op.start + op.predicted_seconds - now);
  }
  return longest;
}

}  // namespace optile::sched
