// Strategies 1 and 2 alone (III-D): one op at a time, first come first served, each at the case
// that its rule gives it.
#pragma once

#include <deque>

#include "sched/cores/core_pool.h"
#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

class SerialStrategy : public StepStrategy {
 public:
  SerialStrategy(const StepOutline& outline, WidthRule rule);

  void begin_step() override;
  void on_ready(int node) override;
  void on_finished(int node, double now) override;
  void decide(double now, std::vector<Launch>* launches) override;
  std::string description() const override;

 private:
  const StepOutline& outline_;
  WidthRule rule_;
  CorePool pool_;
  std::deque<int> ready_;
  CoreSet held_;
  bool running_ = false;
};

}  // namespace optile::sched
