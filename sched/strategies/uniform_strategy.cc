#include "sched/strategies/uniform_strategy.h"

#include <algorithm>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

}  // namespace

UniformSetting recommended_setting(const CoreMap& map) {
  return {map.packages, map.cores};
}

UniformStrategy::UniformStrategy(const StepOutline& outline, UniformSetting setting)
    : outline_(outline), setting_(setting), loads_(outline.map->cores) {}

void UniformStrategy::begin_step() {
  ready_.clear();
  running_.clear();
  loads_.clear();
}

void UniformStrategy::on_ready(int node) {
  ready_.push_back(node);
}

void UniformStrategy::on_finished(int node, double /*now*/) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [node](const Running& one) { return one.node == node; });
  if (found == running_.end()) return;
  loads_.remove(found->cores, found->threads_per_core);
  *found = running_.back();
  running_.pop_back();
}

Launch UniformStrategy::launch_of(int node) {
  const perfmodel::StepGraph& graph = *outline_.graph;
  const auto& instance = graph.instances[at(graph.nodes[at(node)].instance)];
  const int width =
      instance.tunable || instance.default_width == 0 ? setting_.intra : instance.default_width;
  const TimedCase timed = timed_width(instance.times, width, *outline_.map);
  Launch launch;
  launch.node = node;
  launch.which = {width, timed.which.binding};
  launch.placement = Placement::kShared;
  launch.predicted_seconds = timed.seconds;
  launch.cores = loads_.least_loaded(std::min(width, outline_.map->cores));
  return launch;
}

void UniformStrategy::decide(double /*now*/, std::vector<Launch>* launches) {
  while (!ready_.empty() && static_cast<int>(running_.size()) < setting_.inter) {
    Launch launch = launch_of(ready_.front());
    ready_.pop_front();
    const int cores = outline_.map->cores;
    const int threads_per_core = (launch.which.width + cores - 1) / cores;
    loads_.add(launch.cores, threads_per_core);
    running_.push_back({launch.node, threads_per_core, launch.cores});
    launches->push_back(launch);
  }
}

std::string UniformStrategy::description() const {
  return "inter-op " + std::to_string(setting_.inter) + ", intra-op " +
         std::to_string(setting_.intra);
}

}  // namespace optile::sched
