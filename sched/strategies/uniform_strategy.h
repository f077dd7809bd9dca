// One setting for every op, as users of frameworks choose it: at most so many ops at a time, each
// with so many threads, first come first served, nothing bound. The recommendation and the manual
// optimum are two of these.
#pragma once

#include <deque>
#include <vector>

#include "sched/cores/core_pool.h"
#include "sched/strategies/core_loads.h"
#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct UniformSetting {
  int inter = 1;  // ops at a time
  int intra = 1;  // threads of each

  bool operator==(const UniformSetting&) const = default;
};

// Inter-op = sockets, intra-op = physical cores: the guide that the paper measures against.
UniformSetting recommended_setting(const CoreMap& map);

class UniformStrategy : public StepStrategy {
 public:
  UniformStrategy(const StepOutline& outline, UniformSetting setting);

  void begin_step() override;
  void on_ready(int node) override;
  void on_finished(int node, double now) override;
  void decide(double now, std::vector<Launch>* launches) override;
  std::string description() const override;

 private:
  struct Running {
    int node;
    int threads_per_core;
    CoreSet cores;
  };

  Launch launch_of(int node);

  const StepOutline& outline_;
  UniformSetting setting_;
  std::deque<int> ready_;
  std::vector<Running> running_;
  CoreLoads loads_;
};

}  // namespace optile::sched
