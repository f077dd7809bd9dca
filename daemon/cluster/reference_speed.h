// How fast one thread of this machine computes, by a fixed piece of work.
#pragma once

#include <atomic>
#include <optional>

namespace optile::daemon {

// GFLOP/s of a product of matrices, in this thread's own time on a core, the best of some. Takes
// about 10 ms on a core; for a thread of its own. Nothing where `stop` came first.
std::optional<double> measure_gflop_per_second(const std::atomic<bool>& stop);

}  // namespace optile::daemon
