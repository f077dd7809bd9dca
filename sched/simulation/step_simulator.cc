#include "sched/simulation/step_simulator.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

base::Error broken(int node, const std::string& what) {
  return {base::ErrorKind::kInternal, "the strategy launched node " + std::to_string(node) + what};
}

}  // namespace

StepSimulator::StepSimulator(const StepOutline& outline, const StepConditions& conditions)
    : outline_(outline), conditions_(conditions), running_(*outline.map, conditions.interference) {
  for (const auto& instance : outline.graph->instances) {
    draw_reference_.push_back(instance.times.at(instance.times.best()));
  }
}

void StepSimulator::reset() {
  running_.clear();
  lanes_.release_all();
  missing_ = outline_.input_count;
  outcome_ = {};
  outcome_.spans.reserve(outline_.graph->nodes.size());
  now_ = 0;
  core_seconds_ = 0;
  corunning_sum_ = 0;
  finished_ = 0;
  shared_ = 0;
}

base::Status StepSimulator::check(const Launch& launch) const {
  if (launch.node < 0 || at(launch.node) >= missing_.size() || missing_[at(launch.node)] != 0) {
    return broken(launch.node, ", which is not ready");
  }
  const int cores = launch.cores.count();
  const int wanted = std::min(launch.which.width, outline_.map->cores);
  if (cores != wanted || launch.which.width < 1) {
    return broken(launch.node, " at width " + std::to_string(launch.which.width) + " on " +
                                   std::to_string(cores) + " cores");
  }
  if (launch.placement == Placement::kShared) return {};
  if (launch.which.width > outline_.map->cores || shared_ > 0) {
    return broken(launch.node, ", bound, among threads that nothing binds");
  }
  const bool siblings = launch.placement == Placement::kSiblings;
  const bool taken = siblings ? running_.siblings_on(launch.cores) : running_.own_on(launch.cores);
  if (taken || (siblings && outline_.map->hardware_threads < 2)) {
    return broken(launch.node, " on cores that another op has");
  }
  return {};
}

base::Status StepSimulator::launch(const Launch& launch, std::uint64_t step) {
  base::Status allowed = check(launch);
  if (!allowed.ok()) return allowed;
  const int index = outline_.graph->nodes[at(launch.node)].instance;
  const auto& instance = outline_.graph->instances[at(index)];
  const int cores = outline_.map->cores;
  const int within = std::min(launch.which.width, cores);
  const double seconds = instance.times.at({within, launch.which.binding});
  if (!(seconds < perfmodel::kInfinity)) {
    return broken(launch.node,
                  " in a case without a time: " + std::string(binding_name(launch.which.binding)) +
                      " " + std::to_string(launch.which.width));
  }
  SimulatedOp op;
  op.node = launch.node;
  op.span = static_cast<int>(outcome_.spans.size());
  op.threads_per_core = (launch.which.width + cores - 1) / cores;
  op.memory_share = instance.memory_share;
  op.draw = perfmodel::memory_draw(instance.memory_share, draw_reference_[at(index)], seconds);
  op.placement = launch.placement;
  op.cores = launch.cores;
  const LaneTable::Taken lane = lanes_.take(launch.which.width, conditions_.switching);
  op.lane = lane.lane;
  const double switching = std::chrono::duration<double>(lane.cost).count();
  const double alone =
      seconds * conditions_.noise.factor(step, static_cast<std::uint64_t>(launch.node));
  outcome_.spans.push_back({launch.node, lane.lane, now_, now_, alone, switching, launch.which,
                            launch.placement, launch.cores});
  running_.add(op, alone + switching);
  missing_[at(launch.node)] = -1;
  shared_ += launch.placement == Placement::kShared;
  corunning_sum_ += running_.size();
  ++outcome_.events;
  return {};
}

void StepSimulator::finish(const EndedOp& op, StepStrategy* strategy) {
  StepSpan& span = outcome_.spans[at(op.span)];
  span.end = now_;
  if (op.placement != Placement::kSiblings) {
    core_seconds_ += (span.end - span.start) * std::min(span.which.width, outline_.map->cores);
  }
  lanes_.release(op.lane);
  shared_ -= op.placement == Placement::kShared;
  ++finished_;
  ++outcome_.events;
  strategy->on_finished(op.node, now_);
  const int first = outline_.first_user[at(op.node)];
  const int last = outline_.first_user[at(op.node) + 1];
  for (int i = first; i < last; ++i) {
    const int user = outline_.users[at(i)];
    if (--missing_[at(user)] == 0) strategy->on_ready(user);
  }
}

base::Result<StepOutcome> StepSimulator::run(StepStrategy* strategy, std::uint64_t step) {
  reset();
  strategy->begin_step();
  const std::size_t nodes = missing_.size();
  for (std::size_t node = 0; node < nodes; ++node) {
    if (missing_[node] == 0) strategy->on_ready(static_cast<int>(node));
  }
  std::vector<Launch> launches;
  std::vector<EndedOp> ended;
  while (finished_ < nodes) {
    launches.clear();
    strategy->decide(now_, &launches);
    for (const Launch& one : launches) {
      const base::Status launched = launch(one, step);
      if (!launched.ok()) return launched.error();
    }
    if (running_.empty()) {
      return base::Error{base::ErrorKind::kInternal,
                         "the strategy starts nothing although nothing runs, after " +
                             std::to_string(finished_) + " of " + std::to_string(nodes) + " ops"};
    }
    const double passed = running_.time_to_next();
    ended.clear();
    running_.advance(passed, &ended);
    now_ += passed;
    if (now_ > limit_) {
      outcome_.seconds = perfmodel::kInfinity;
      return std::move(outcome_);
    }
    for (std::size_t i = 0; i < ended.size(); ++i) {
      corunning_sum_ += running_.size() + ended.size() - i;  // itself among them
      finish(ended[i], strategy);
    }
  }
  outcome_.seconds = now_;
  outcome_.corunning_mean =
      static_cast<double>(corunning_sum_) / static_cast<double>(outcome_.events);
  // Uniform settings put several ops on one core: then cores count at most once.
  outcome_.utilisation = std::min(1.0, core_seconds_ / (now_ * outline_.map->cores));
  return std::move(outcome_);
}

base::Result<StepOutcome> simulate_steps(const StepOutline& outline,
                                         const StepConditions& conditions, int warm_up,
                                         StepStrategy* strategy) {
  StepSimulator simulator(outline, conditions);
  for (int step = 0; step < warm_up; ++step) {
    const auto outcome = simulator.run(strategy, static_cast<std::uint64_t>(step));
    if (!outcome.ok()) return outcome.error();
  }
  return simulator.run(strategy, static_cast<std::uint64_t>(warm_up));
}

}  // namespace optile::sched
