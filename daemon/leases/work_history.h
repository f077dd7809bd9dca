// What a program's threads did lately: for how long they wanted a processor, and how much work they
// began. Pure; the daemon's one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace optile::daemon {

class WorkHistory {
 public:
  using Time = std::chrono::milliseconds;
  // Work a second, by steps and by ops; 0 = not known.
  using Pace = std::array<double, 2>;
  struct Sample {
    Time at{0};
    std::chrono::nanoseconds runnable{0};  // or running, so far
    std::array<uint64_t, 2> work{};        // steps, and ops, begun so far
    bool sampling_paused = false;          // ops are counted in part only
  };

  // Of a time that is not before that of the latest.
  void add(const Sample& sample);
  bool is_sampling_paused() const { return samples_.back().sampling_paused; }
  // The share of the latest so much time for which it wanted a processor; nullopt: it has not been
  // looked at for so long.
  std::optional<double> demand_over(Time window) const;
  std::optional<Pace> pace_over(Time window) const;
  // Within a second, or since the look before where that is longer; nullopt: nothing is known yet.
  std::optional<bool> has_worked_lately() const;

 private:
  const Sample* before(Time window) const;

  std::deque<Sample> samples_;  // the latest last
};

}  // namespace optile::daemon
