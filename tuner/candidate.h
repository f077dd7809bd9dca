// What a session compares with the program's own widths. Plain value.
#pragma once

#include <cstdint>

#include "perfmodel/profile/configuration.h"
#include "tuner/width_planner.h"

namespace optile::tuner {

// Widths for a whole step, and the masks they run under.
struct Candidate {
  enum class Kind : uint8_t { kOwn, kUniform, kPlanned };
  Kind kind = Kind::kOwn;
  perfmodel::Binding binding = perfmodel::Binding::kNone;
  WidthPlan plan;
  int uniform_width = 0;  // kUniform only
};

}  // namespace optile::tuner
