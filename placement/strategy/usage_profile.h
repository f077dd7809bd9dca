// How much memory is in use at every moment of a problem, under changes of single nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/strategy/problem.h"

namespace optile::placement {

// Moments at which the use can be greatest, half open; empty where begin == end.
struct MomentSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool empty() const { return begin >= end; }
  std::uint32_t length() const { return empty() ? 0 : end - begin; }
};

// Between two ends the use only grows, so the last moment before an end speaks for all before it:
// of 30,000 times of a problem those remain.
struct Moments {
  std::uint32_t count = 0;
  std::vector<MomentSpan> of_node;  // by the problem's nodes
};

Moments moments_of(const StrategyProblem& problem);

// Sums over ranges of moments with the greatest of any range, both in O(log moments).
class UsageProfile {
 public:
  explicit UsageProfile(std::uint32_t moments);

  void add(MomentSpan span, Total amount);
  Total greatest(MomentSpan span) const;  // 0 for an empty span
  Total greatest() const { return moments_ == 0 ? 0 : best_[1]; }
  // The use at every moment, in O(moments).
  std::vector<Total> values() const;

 private:
  std::uint32_t moments_;
  std::uint32_t leaves_;      // a power of two
  std::vector<Total> best_;   // greatest below, with what is pending here and below
  std::vector<Total> added_;  // pending for everything below
};

}  // namespace optile::placement
