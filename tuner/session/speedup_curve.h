// Predicted seconds of a session's step over the number of cores, from its samples and those of
// earlier runs. Remembers what it computed last. Owned by the session; one thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tuner/session/client_record.h"
#include "tuner/session/session_view.h"

namespace optile::tuner {

class SpeedupCurve {
 public:
  // `earlier`: what ops took in earlier runs.
  explicit SpeedupCurve(std::vector<StoredTime> earlier) : earlier_(std::move(earlier)) {}

  // With 1 … `most` cores; empty while nothing is known of the step.
  std::vector<double> seconds_by_cores(const ClientRecord& client, Phase phase, int most);

 private:
  // Computed anew when it is about something else, or a quarter more samples are there.
  struct OpsCurve {
    uint32_t step = 0;  // which one that was found
    Phase phase = Phase::kRecognising;
    uint64_t samples = 0;
    int default_width = 0;
    std::vector<double> seconds;
  };

  std::vector<double> ops_by_cores(const ClientRecord& client, int most) const;

  std::vector<StoredTime> earlier_;
  OpsCurve ops_;
};

}  // namespace optile::tuner
