#include "daemon/client/tick_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/cpu_counter.h"
#include "bindings/abi/layout.h"

namespace optile::daemon {
namespace {

constexpr double kRateTolerance = 0.01;
constexpr uint64_t kLeastRate = UINT64_C(1000000);         // 1 MHz, slower than any counter
constexpr uint64_t kHighestRate = UINT64_C(100000000000);  // 100 GHz, faster than any
constexpr uint64_t kCalibrationNs = UINT64_C(20000000);    // rates need 20 ms to be seen
constexpr double kLongestNs = 1e15;                        // eleven days, of one op or step
constexpr double kLongestLifeNs = 9e18;  // of a program: what an int64_t holds, centuries

// The counter's rate, from where it was when the daemon started.
class CounterRate {
 public:
  CounterRate() : start_ns_(base::monotonic_ns()), start_ticks_(base::cpu_counter()) {}

  std::optional<uint64_t> hz() const {
    if (!base::cpu_counter_is_steady()) return std::nullopt;
    if (const uint64_t stated = base::cpu_counter_stated_hz(); stated != 0) return stated;
    const uint64_t elapsed_ns = base::monotonic_ns() - start_ns_;
    if (elapsed_ns < kCalibrationNs) return 0;
    const auto ticks = static_cast<double>(base::cpu_counter() - start_ticks_);
    return static_cast<uint64_t>(ticks * 1e9 / static_cast<double>(elapsed_ns));
  }

 private:
  uint64_t start_ns_;
  uint64_t start_ticks_;
};

}  // namespace

Clocks system_clocks() {
  const CounterRate rate;
  Clocks clocks;
  clocks.monotonic_ns = [] { return base::monotonic_ns(); };
  clocks.unix_seconds = [] {
    return static_cast<int64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
  };
  clocks.counter_hz = [rate] { return rate.hz(); };
  clocks.counter = [] { return base::cpu_counter(); };
  return clocks;
}

std::optional<TickClock> TickClock::make(uint32_t clock_kind, uint64_t ticks_per_second,
                                         uint64_t attach_ticks, const Clocks& clocks) {
  TickClock clock;
  clock.attach_ticks_ = attach_ticks;
  if (clock_kind == OPTILE_CLOCK_MONOTONIC_NS) {
    if (ticks_per_second != UINT64_C(1000000000)) return std::nullopt;
    clock.now_ = clocks.monotonic_ns;
    return clock;
  }
  if (clock_kind != OPTILE_CLOCK_CPU_COUNTER) return std::nullopt;
  const std::optional<uint64_t> own = clocks.counter_hz();
  if (!own || ticks_per_second < kLeastRate || ticks_per_second > kHighestRate) {
    return std::nullopt;
  }
  const auto declared = static_cast<double>(ticks_per_second);
  if (*own != 0 && std::abs(declared / static_cast<double>(*own) - 1) > kRateTolerance) {
    return std::nullopt;
  }
  clock.ns_per_tick_ = 1e9 / declared;
  clock.now_ = clocks.counter;
  return clock;
}

perfmodel::Nanoseconds TickClock::at_most(double longest_ns, uint64_t ticks) const {
  const double ns = std::min(static_cast<double>(ticks) * ns_per_tick_, longest_ns);
  return perfmodel::Nanoseconds(static_cast<int64_t>(ns));
}

perfmodel::Nanoseconds TickClock::duration(uint64_t ticks) const {
  return at_most(kLongestNs, ticks);
}

perfmodel::Nanoseconds TickClock::since_attach(uint64_t ticks) const {
  return at_most(kLongestLifeNs, ticks < attach_ticks_ ? 0 : ticks - attach_ticks_);
}

}  // namespace optile::daemon
