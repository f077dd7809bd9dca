// Programs that asked how to start and have not attached yet: beside those a newcomer will run,
// too. Pure; the daemon's one thread.
#pragma once

#include <chrono>
#include <deque>

#include "daemon/store.h"

namespace optile::daemon {

class ExpectedArrivals {
 public:
  // One that has not come after so long opens no regions, or was never started.
  static constexpr std::chrono::seconds kPatience{10};

  void expect(const ProgramKey& program, double share, std::chrono::milliseconds now);
  // A process of that program attached.
  void came(const ProgramKey& program, std::chrono::milliseconds now);
  // Of all that are still expected.
  double share(std::chrono::milliseconds now);

 private:
  struct Arrival {
    ProgramKey program;
    double share = 1;
    std::chrono::milliseconds since{0};
  };
  void forget_late(std::chrono::milliseconds now);

  static constexpr std::size_t kMost = 1024;
  std::deque<Arrival> arrivals_;  // oldest first
};

}  // namespace optile::daemon
