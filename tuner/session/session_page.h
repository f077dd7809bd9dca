// What a session remembers of a plan page that it gave away, as far as later events need it. The
// inside of a session; only session_state.h includes this.
#pragma once

#include <cstdint>
#include <vector>

namespace optile::tuner {

// What a scheduled step is for.
enum class PageColumn : uint8_t { kControl, kTrial, kUniform, kCandidate, kPlan };

struct SessionPage {
  bool base_is_plan = false;  // outside of the schedule: the plan in force, else default widths
  bool counts = false;        // every step pays for counters
  bool lent = false;          // steps may be wider than the bounds
  std::vector<PageColumn> columns;
};

}  // namespace optile::tuner
