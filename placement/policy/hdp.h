// HDP (spec 2): a feed-forward grouper puts units into groups and a recurrent placer gives these
// devices, both learned together by REINFORCE.
#pragma once

#include <memory>

#include "placement/policy/policy.h"

namespace optile::placement::policy {

std::unique_ptr<Policy> make_hdp(int devices, std::uint64_t seed);

}  // namespace optile::placement::policy
