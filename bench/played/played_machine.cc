#include "bench/played/played_machine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/at.h"

namespace optile::bench {

using base::at;

PlayedMachine::PlayedMachine(const sched::CoreMap& map)
    : map_(&map), running_(map, perfmodel::Interference()), loads_(map.cores) {}

int PlayedMachine::begin(const KernelTimes& kernel, int width, double now) {
  advance(now);
  const int number = begun();
  const int cores = map_->cores;
  const int within = std::clamp(width, 1, cores);
  const double seconds = kernel.at(within);
  Played played;
  played.width = width;
  played.threads_per_core = (std::max(width, 1) + cores - 1) / cores;
  played.cores = loads_.least_loaded(within);
  sched::SimulatedOp op;
  op.node = number;
  op.span = number;
  op.threads_per_core = played.threads_per_core;
  op.memory_share = kernel.memory_share;
  op.draw = perfmodel::memory_draw(kernel.memory_share, kernel.fastest(), seconds);
  op.placement = sched::Placement::kShared;
  op.cores = played.cores;
  running_.add(op, seconds);
  loads_.add(played.cores, played.threads_per_core);
  threads_ += width;
  kernels_.push_back(played);
  running_numbers_.insert(number);
  corunning_sum_ += static_cast<double>(running_.size());
  ++events_;
  return number;
}

void PlayedMachine::end(const sched::EndedOp& op) {
  Played& played = kernels_[at(op.span)];
  played.end = now_;
  loads_.remove(played.cores, played.threads_per_core);
  threads_ -= played.width;
  running_numbers_.erase(op.span);
}

void PlayedMachine::advance(double now) {
  std::vector<sched::EndedOp> ended;
  while (now_ < now && !running_.empty()) {
    const double passed = std::min(now - now_, running_.time_to_next());
    ended.clear();
    running_.advance(passed, &ended);
    thread_seconds_ += passed * threads_;
    // What is too little to be seen behind the seconds so far must not keep it here.
    now_ = std::max(now_ + passed, std::nextafter(now_, now));
    for (std::size_t i = 0; i < ended.size(); ++i) {
      corunning_sum_ += static_cast<double>(running_.size() + ended.size() - i);
      ++events_;
      end(ended[i]);
    }
  }
  now_ = std::max(now_, now);
}

double PlayedMachine::next_end() {
  if (running_.empty()) return std::numeric_limits<double>::infinity();
  return now_ + running_.time_to_next();
}

double PlayedMachine::corunning_mean() const {
  return events_ == 0 ? 0 : corunning_sum_ / events_;
}

}  // namespace optile::bench
