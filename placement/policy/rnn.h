// The recurrent policy (spec 2, RNN-based): a placer over groups that are fixed before it learns,
// by REINFORCE.
#pragma once

#include <memory>

#include "placement/policy/policy.h"

namespace optile::placement::policy {

std::unique_ptr<Policy> make_rnn(int devices, std::uint64_t seed);

}  // namespace optile::placement::policy
