// Strategies 1 and 2 alone (III-D): one op at a time, first come first served, each at the case
// that its rule gives it.
#pragma once

#include <memory>

#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

// Keeps a reference to the outline.
std::unique_ptr<StepStrategy> make_serial_strategy(const StepOutline& outline, WidthRule rule);

}  // namespace optile::sched
