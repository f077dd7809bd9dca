// What a choice of strategies costs: OptCNN eq. 1 with the memory limit of IOPDDL. The one place
// where objective E3 is stated: the sum over nodes of costs[strategy], plus the sum over edges of
// table(strategy of first, strategy of second); at every moment the usages of the nodes that live
// then are at most usage_limit; no choice is forbidden.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/strategy/problem.h"
#include "placement/strategy/usage_profile.h"

namespace optile::placement {

struct StrategyDelta {
  Total cost = 0;              // without forbidden parts
  std::int64_t forbidden = 0;  // how many more forbidden parts
};

// One choice under moves of single nodes, each in O(degree) for the cost and O(log moments) for the
// memory. The problem must outlive it. Of one thread.
class StrategyState {
 public:
  // `choice` has a strategy for every node.
  StrategyState(const StrategyProblem& problem, StrategyChoice choice);

  const StrategyChoice& choice() const { return choice_; }
  Total cost() const { return cost_; }
  std::int64_t forbidden() const { return forbidden_; }
  Total peak() const { return profile_.greatest(); }
  bool within_limit() const;
  bool feasible() const { return forbidden_ == 0 && within_limit(); }

  StrategyDelta delta(std::uint32_t node, std::uint16_t strategy) const;
  void move(std::uint32_t node, std::uint16_t strategy);

  const Moments& moments() const { return moments_; }
  const UsageProfile& profile() const { return profile_; }

 private:
  struct Incidence {
    std::uint32_t edge;
    bool is_first;
  };
  Cost part(const Incidence& incidence, std::uint16_t strategy) const;
  void count(Cost cost, int sign);

  const StrategyProblem& problem_;
  Moments moments_;
  StrategyChoice choice_;
  std::vector<std::uint32_t> begin_;  // of each node's incidences
  std::vector<Incidence> incidences_;
  UsageProfile profile_;
  Total cost_ = 0;
  std::int64_t forbidden_ = 0;
};

}  // namespace optile::placement
