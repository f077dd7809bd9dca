// Steps a second of a client, counted over time: a program that pauses between bursts of steps
// makes fewer than its median step says. Pure: the clock comes in. The daemon's one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace optile::daemon {

class StepRate {
 public:
  // Looks within so long count; longer ones where there were fewer steps than kLeastSteps.
  static constexpr uint64_t kWindowNs = UINT64_C(10'000'000'000);
  static constexpr uint64_t kMaxWindowNs = 12 * kWindowNs;
  static constexpr uint64_t kLeastSteps = 5;
  static constexpr uint64_t kSpacingNs = UINT64_C(500'000'000);

  // Whether the next look is due.
  bool is_due(uint64_t now_ns) const;
  void note(uint64_t now_ns, uint64_t steps);
  // nullopt until two looks lie a second apart.
  std::optional<double> per_second() const;

 private:
  struct Look {
    uint64_t at_ns = 0;
    uint64_t steps = 0;
  };
  std::deque<Look> looks_;  // oldest first
};

}  // namespace optile::daemon
