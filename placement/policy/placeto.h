// Placeto (spec 2): visits the groups one by one and gives each a device; a network over the graph
// tells them apart. Learned by REINFORCE from how each step changes the cost, or from the end.
#pragma once

#include <memory>

#include "placement/policy/policy.h"

namespace optile::placement::policy {

enum class Rewards { kSteps, kEnd };

std::unique_ptr<Policy> make_placeto(int devices, Rewards rewards, std::uint64_t seed);

}  // namespace optile::placement::policy
