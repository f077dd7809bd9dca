// The time of a step's ops over the number of cores that the program may use: every op at its
// fastest width up to that number. What leases between programs are allocated by. Pure.
#pragma once

#include <vector>

#include "tuner/plan/width_planner.h"

namespace optile::tuner {

struct CurveOp {
  int per_step = 0;                  // executions
  std::vector<WidthEstimate> known;  // ascending
  // First executions at narrower widths than those, ascending: the op takes no longer there.
  std::vector<WidthEstimate> touched{};
};

// Element n - 1: seconds with at most n cores. Between two known widths an op follows the law
// time = serial + parallel / width through them, below the narrowest that of the two narrowest and
// beyond the widest that of the two widest; of an op that is known at one width nine tenths are
// taken to be parallel. A first execution at a narrower width counts where it was faster than that
// law. Ops that nothing is known of add nothing.
std::vector<double> ops_seconds_by_cores(const std::vector<CurveOp>& ops, int most);

}  // namespace optile::tuner
