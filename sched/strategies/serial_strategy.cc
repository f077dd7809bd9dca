#include "sched/strategies/serial_strategy.h"

namespace optile::sched {

SerialStrategy::SerialStrategy(const StepOutline& outline, WidthRule rule)
    : outline_(outline), rule_(rule), pool_(*outline.map) {}

void SerialStrategy::begin_step() {
  ready_.clear();
  pool_ = CorePool(*outline_.map);
  running_ = false;
}

void SerialStrategy::on_ready(int node) {
  ready_.push_back(node);
}

void SerialStrategy::on_finished(int /*node*/, double /*now*/) {
  pool_.release(held_);
  running_ = false;
}

void SerialStrategy::decide(double /*now*/, std::vector<Launch>* launches) {
  if (running_ || ready_.empty()) return;
  const int node = ready_.front();
  ready_.pop_front();
  const TimedCase& plan = outline_.of_node(node).plan(rule_);
  held_ = pool_.take(plan.which);
  running_ = true;
  launches->push_back({node, plan.which, held_, Placement::kOwnCores, plan.seconds});
}

std::string SerialStrategy::description() const {
  return rule_ == WidthRule::kPerInstance
             ? "one op at a time, each instance at its own best width"
             : "one op at a time, one width for all instances of an op";
}

}  // namespace optile::sched
