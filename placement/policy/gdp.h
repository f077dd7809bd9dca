// GDP (spec 2): GraphSAGE with maxima over neighbours, then attention over the units in segments,
// each of which sees the one before it; without places in a sequence. Learned by PPO.
#pragma once

#include <memory>

#include "placement/policy/policy.h"

namespace optile::placement::policy {

std::unique_ptr<Policy> make_gdp(int devices, std::uint64_t seed);

}  // namespace optile::placement::policy
