// How runs of one op differ from each other, for simulations: the same op in the same step gets the
// same draw whatever else happens, so that two strategies are compared under one weather. Pure; any
// thread. The models are fixed in docs/results/simulator.md.
#pragma once

#include <cstdint>

namespace optile::perfmodel {

struct Noise {
  std::uint64_t seed = 0;
  double spread = 0.0;  // sigma of the logarithm of every run's factor

  // Of this node in this step; positive, and with a median of 1.
  double factor(std::uint64_t step, std::uint64_t node) const;
};

}  // namespace optile::perfmodel
