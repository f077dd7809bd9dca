#include "tuner/plan/candidate.h"

#include <algorithm>

namespace optile::tuner {

bool fits(int width, int default_width) {
  return width > 0 && (default_width == 0 || width < default_width);
}

bool changes_something(const Candidate& candidate, int default_width) {
  return candidate.binding != perfmodel::Binding::kNone || candidate.flow.admits() ||
         std::any_of(candidate.plan.widths.begin(), candidate.plan.widths.end(),
                     [&](int width) { return width != default_width; });
}

int common_width(const Candidate& candidate, int default_width) {
  if (candidate.binding != perfmodel::Binding::kNone || candidate.flow.admits() ||
      candidate.plan.widths.empty()) {
    return 0;
  }
  const int width = candidate.plan.widths.front();
  const bool same = std::all_of(candidate.plan.widths.begin(), candidate.plan.widths.end(),
                                [&](int one) { return one == width; });
  return same && fits(width, default_width) ? width : 0;
}

std::string describe(const Candidate& candidate) {
  switch (candidate.kind) {
    case Candidate::Kind::kOwn:
      return "default widths";
    case Candidate::Kind::kUniform:
      return "one width of " + std::to_string(candidate.uniform_width) + " for the whole step";
    case Candidate::Kind::kPlanned:
      return "a width per op";
    case Candidate::Kind::kSideBySide:
      switch (candidate.flow.kind) {
        case OpFlow::Kind::kAhead:
          return "ops side by side, what the step waits for first";
        case OpFlow::Kind::kFilled:
          return "ops side by side by strategies 3 and 4";
        default:
          return "ops side by side by strategy 3";
      }
  }
  return "";
}

}  // namespace optile::tuner
