#include "perfmodel/profile/switching_cost.h"

#include <algorithm>

namespace optile::perfmodel {
namespace {

using std::chrono::microseconds;

// Priors for one change, seen with teams of four: libgomp re-creates threads (37-54 us for a pair
// of changes), LLVM's runtime wakes parked ones (4-6 us). Both do it thread by thread, so a wider
// team takes as much more. Only a start: learn() replaces them.
constexpr int kSeenTeam = 4;

Nanoseconds prior(Runtime runtime) {
  switch (runtime) {
    case Runtime::kLlvm:
      return microseconds(3);
    case Runtime::kLibgomp:
    case Runtime::kUnknown:
      return microseconds(25);
  }
  return microseconds(25);
}

}  // namespace

const char* runtime_name(Runtime runtime) {
  switch (runtime) {
    case Runtime::kLibgomp:
      return "libgomp";
    case Runtime::kLlvm:
      return "libomp";
    case Runtime::kUnknown:
      return "unknown";
  }
  return "unknown";
}

SwitchingCost::SwitchingCost(Runtime runtime, int team)
    : typical_(prior(runtime) * std::max(kSeenTeam, team) / kSeenTeam) {}

Nanoseconds SwitchingCost::between(int from, int to) const {
  return from == to || from == 1 || to == 1 ? Nanoseconds(0) : typical_;
}

void SwitchingCost::learn(Nanoseconds excess, int changes) {
  if (changes <= 0) return;
  const Nanoseconds seen = std::max(excess, Nanoseconds(0)) / changes;
  // The first observation replaces the prior; later ones are averaged in, a quarter each.
  typical_ = observations_ == 0 ? seen : (typical_ * 3 + seen) / 4;
  ++observations_;
}

}  // namespace optile::perfmodel
