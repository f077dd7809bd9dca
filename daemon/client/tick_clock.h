// The daemon's clocks, as dependencies, and the conversion of a client's ticks. Pure but for
// system_clocks(). The daemon's one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "perfmodel/profile/profile.h"

namespace optile::daemon {

struct Clocks {
  std::function<uint64_t()> monotonic_ns;
  std::function<int64_t()> unix_seconds;  // for dates in the store only
  // Rate of the processor's counter as measured here; 0 = not measured yet. nullopt = the counter
  // is not steady on this machine, so no client may use it.
  std::function<std::optional<uint64_t>()> counter_hz;
  std::function<uint64_t()> counter;
};
Clocks system_clocks();

// Ticks of one client as time since its attach.
class TickClock {
 public:
  // nullopt when the client declares a clock that is none, or a rate more than 1 % off ours.
  static std::optional<TickClock> make(uint32_t clock_kind, uint64_t ticks_per_second,
                                       uint64_t attach_ticks, const Clocks& clocks);

  perfmodel::Nanoseconds duration(uint64_t ticks) const;
  double ticks_per_ns() const { return 1 / ns_per_tick_; }
  // Ticks before the attach are zero.
  perfmodel::Nanoseconds since_attach(uint64_t ticks) const;
  // The same clock, read here.
  uint64_t now() const { return now_(); }

 private:
  perfmodel::Nanoseconds at_most(double longest_ns, uint64_t ticks) const;
  double ns_per_tick_ = 1;
  uint64_t attach_ticks_ = 0;
  std::function<uint64_t()> now_;
};

}  // namespace optile::daemon
