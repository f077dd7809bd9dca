// Which ops compute the same bits at every width, so that `--numerics as-untuned` may still tune
// them. Pure; any thread.
//
// The list is short, and whatever is not on it counts as changing. An op is on it for two reasons
// that both have to hold: `bench/numerics/width_numerics.py` found no other bits at any shape and
// width with any PyTorch that it was tried with (docs/results/numerics.md), and each element that
// it gives is made from its own elements by operations that IEEE 754 rounds in one way only, or is
// a copy. So it does not matter which thread makes it, nor whether that is the vector loop or what
// is left over behind it.
#pragma once

#include "perfmodel/profile/op.h"

namespace optile::daemon {

bool same_bits_at_every_width(const perfmodel::OpDescription& op);

}  // namespace optile::daemon
