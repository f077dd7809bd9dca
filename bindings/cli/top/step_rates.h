// Steps a second of every client, from the counts that one look after the other finds. Pure: time
// comes in, in seconds since whenever.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

class StepRates {
 public:
  // Looks within so long count: steps come in lumps, since the daemon reads a tuned client about
  // once a second.
  static constexpr double kWindowSeconds = 10;
  // Fewer steps than this in the time looked at are no rate; then the median step serves.
  static constexpr double kLeastSteps = 5;

  void look(const std::vector<ClientSeen>& clients, double now);
  void forget() { looks_.clear(); }

  // nullopt while nothing is known of its steps.
  std::optional<double> of(const ClientSeen& client) const;

 private:
  struct Look {
    double at = 0;
    uint64_t steps = 0;
  };
  std::map<uint64_t, std::deque<Look>> looks_;  // by client, oldest first
};

}  // namespace optile::cli
