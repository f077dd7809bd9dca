// When what many arrivals and departures ask for together is decided: at once, but after a decision
// that took its time only when four times as long has passed. With hundreds of clients one takes
// milliseconds, and while they come one by one the daemon has to greet them and to read the others.
// The clock comes in.
#pragma once

#include <algorithm>
#include <chrono>

namespace optile::daemon {

class RebalanceRateLimiter {
 public:
  using Time = std::chrono::nanoseconds;  // of a clock that never goes back
  static constexpr int kPausePerDecision = 4;
  static constexpr Time kLongestPause = std::chrono::milliseconds(100);

  // How long the next one is to wait.
  Time wait(Time now) const { return std::max(Time(0), earliest_ - now); }
  void decided(Time begun, Time ended) {
    earliest_ =
        ended + std::min(kLongestPause, kPausePerDecision * std::max(Time(0), ended - begun));
  }

 private:
  Time earliest_{0};
};

}  // namespace optile::daemon
