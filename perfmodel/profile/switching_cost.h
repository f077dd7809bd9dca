// What changing the width between two neighbouring ops costs. libgomp destroys and re-creates
// threads when a team shrinks and grows again, LLVM's runtime parks them; width 1 is free in both.
// Starts from a prior by runtime and team and is corrected by whole steps that were measured with
// many changes. Owned by one tuner session; one thread.
#pragma once

#include <cstdint>

#include "perfmodel/profile/profile.h"

namespace optile::perfmodel {

enum class Runtime : uint8_t { kUnknown = 0, kLibgomp = 1, kLlvm = 2 };

const char* runtime_name(Runtime runtime);

class SwitchingCost {
 public:
  // `team`: threads of the widest one. Of fewer than four the prior is that of four.
  explicit SwitchingCost(Runtime runtime = Runtime::kUnknown, int team = 4);

  // Of one change, master's view; zero when from == to or either is 1.
  Nanoseconds between(int from, int to) const;
  // A step took `excess` longer than its ops alone explain, with `changes` changes in it that are
  // not free. Negative excess counts as zero.
  void learn(Nanoseconds excess, int changes);
  Nanoseconds typical() const { return typical_; }
  bool measured() const { return observations_ > 0; }

 private:
  Nanoseconds typical_;
  int observations_ = 0;
};

}  // namespace optile::perfmodel
