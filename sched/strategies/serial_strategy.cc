#include "sched/strategies/serial_strategy.h"

#include <deque>

#include "sched/cores/core_pool.h"

namespace optile::sched {
namespace {

class SerialStrategy final : public StepStrategy {
 public:
  SerialStrategy(const StepOutline& outline, WidthRule rule)
      : outline_(outline), rule_(rule), pool_(*outline.map) {}

  void begin_step() override {
    ready_.clear();
    pool_ = CorePool(*outline_.map);
    running_ = false;
  }

  void on_ready(int node) override { ready_.push_back(node); }

  void on_finished(int /*node*/, double /*now*/) override {
    pool_.release(held_);
    running_ = false;
  }

  void decide(double /*now*/, std::vector<Launch>* launches) override {
    if (running_ || ready_.empty()) return;
    const int node = ready_.front();
    ready_.pop_front();
    const TimedCase& plan = outline_.of_node(node).plan(rule_);
    held_ = pool_.take(plan.which);
    running_ = true;
    launches->push_back({node, plan.which, held_, Placement::kOwnCores, plan.seconds});
  }

  std::string description() const override {
    return rule_ == WidthRule::kPerInstance
               ? "one op at a time, each instance at its own best width"
               : "one op at a time, one width for all instances of an op";
  }

 private:
  const StepOutline& outline_;
  WidthRule rule_;
  CorePool pool_;
  std::deque<int> ready_;
  CoreSet held_;
  bool running_ = false;
};

}  // namespace

std::unique_ptr<StepStrategy> make_serial_strategy(const StepOutline& outline, WidthRule rule) {
  return std::make_unique<SerialStrategy>(outline, rule);
}

}  // namespace optile::sched
