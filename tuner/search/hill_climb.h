// The hill climb (III-C of the concurrency control paper), as it is: width 1, then multiples of the
// interval x, the last one clamped to C; at each width spread while it fits and compact where it is
// admitted; per binding the climb stops as soon as the time rises (best = the width before) or the
// end is reached. One counted execution per width decides, so noise can stop it early; that is what
// the other search is for.
#pragma once

#include <memory>
#include <vector>

#include "tuner/plan/op_samples.h"
#include "tuner/search/search.h"

namespace optile::tuner {

// x: `interval`, or 1 up to 8 cores and 4 above when that is 0.
int hill_climb_interval(int interval, int cores);

// The cases of `admitted` that the climb visits, narrow first, spread before compact.
std::vector<perfmodel::Configuration> hill_climb_grid(
    const std::vector<perfmodel::Configuration>& admitted, int cores, int interval);

// Keeps a reference to the samples.
std::unique_ptr<Search> make_hill_climb(const OpSamples& samples,
                                        const std::vector<perfmodel::Configuration>& grid,
                                        perfmodel::Configuration own);

}  // namespace optile::tuner
