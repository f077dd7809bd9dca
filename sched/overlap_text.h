// What the overlap trials say to people. Pure.
#pragma once

#include <string>
#include <vector>

#include "sched/lease.h"
#include "sched/overlap_verdicts.h"
#include "sched/pair_rounds.h"

namespace optile::sched {

std::string cores_text(const std::vector<int>& cores);  // "cores 2 3"
std::string gain_text(const PairEstimate& estimate);    // "+4.1 % [2.3, 5.9] over 8 rounds"
std::string shape_text(OverlapShape shape, const Overlap& overlap);

}  // namespace optile::sched
