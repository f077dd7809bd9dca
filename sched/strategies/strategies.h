// The strategies by name. Pure; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

// recommendation; s1, s12: strategies 1 and 2, one op at a time; s13, s123: strategy 3 on them;
// s134, s1234: strategy 4 on those. paper is s1234.
std::vector<std::string> fixed_strategy_names();

// One of these names; nullptr for any other. `outline` outlives it.
std::unique_ptr<StepStrategy> make_fixed_strategy(const std::string& name,
                                                  const StepOutline& outline);

}  // namespace optile::sched
