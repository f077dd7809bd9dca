// What a session compares with the program's default widths. Plain value.
#pragma once

#include <cstdint>
#include <string>

#include "perfmodel/profile/configuration.h"
#include "tuner/plan/width_planner.h"

namespace optile::tuner {

// Widths for a whole step, the masks they run under, and how its ops pass.
struct Candidate {
  enum class Kind : uint8_t { kOwn, kUniform, kPlanned, kSideBySide };
  Kind kind = Kind::kOwn;
  perfmodel::Binding binding = perfmodel::Binding::kNone;
  WidthPlan plan;
  int uniform_width = 0;  // kUniform only
  OpFlow flow{};
};

// Is `width` one that an op of the program's default width may have? Own width 0: not known.
bool fits(int width, int default_width);
// Does an op run otherwise than by itself?
bool changes_something(const Candidate& candidate, int default_width);
// The one width below the program's own at which every op runs; 0 = there is none.
int common_width(const Candidate& candidate, int default_width);
// For people.
std::string describe(const Candidate& candidate);

}  // namespace optile::tuner
