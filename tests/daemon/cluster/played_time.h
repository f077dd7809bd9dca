// Time that is played: what happens in a simulation, in the order of its moments; and the clocks of
// machines, which agree neither on the moment nor on how fast it passes. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace optile::daemon {

class PlayedTime {
 public:
  using Time = std::chrono::nanoseconds;  // since the simulation began; no machine knows it

  Time now() const { return now_; }
  std::size_t happened() const { return happened_; }
  // Of one moment: in the order in which they were said.
  void after(Time delay, std::function<void()> happens) {
    waiting_.emplace(std::pair(now_ + std::max(Time(0), delay), ++said_), std::move(happens));
  }
  // Whatever happens next happens now. False: nothing is left.
  bool step() {
    if (waiting_.empty()) return false;
    auto next = waiting_.extract(waiting_.begin());
    now_ = next.key().first;
    ++happened_;
    next.mapped()();
    return true;
  }

 private:
  Time now_{0};
  uint64_t said_ = 0;
  std::size_t happened_ = 0;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> waiting_;
};

// A monotonic clock: it runs a little too fast or too slow, and jumps only forward, where something
// lets it.
struct MachineClock {
  PlayedTime::Time offset{0};
  double drift = 0;  // 1e-6: a microsecond a second too fast

  PlayedTime::Time read(PlayedTime::Time moment) const {
    return offset + moment +
           PlayedTime::Time(std::llround(static_cast<double>(moment.count()) * drift));
  }
  // How long until it has counted that far.
  static PlayedTime::Time as_true(PlayedTime::Time counted, double drift) {
    return PlayedTime::Time(std::llround(static_cast<double>(counted.count()) / (1 + drift)));
  }
};

}  // namespace optile::daemon
