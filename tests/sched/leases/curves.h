// Curves and brute force for the tests of leases. Everything comes from the generator that is
// passed in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "sched/leases/allocation_policy.h"

namespace optile::sched::curves {

using Random = std::mt19937_64;

inline double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1.0p-53;
}
inline int integer(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
}

inline void scale_to_one(std::vector<double>& curve) {
  const double best = *std::max_element(curve.begin(), curve.end());
  for (double& value : curve) value /= best;
}

// Amdahl's law with a cost per core, so that it may turn down.
inline std::vector<double> smooth(Random& random, int cores) {
  const double serial = uniform(random, 0.0, 0.5);
  const double cost = uniform(random, 0.0, 0.05);
  std::vector<double> curve;
  for (int n = 1; n <= cores; ++n) {
    curve.push_back(1.0 / (serial + (1 - serial) / n + cost * (n - 1) / cores));
  }
  scale_to_one(curve);
  return curve;
}

// Flat with jumps, as when a program only uses powers of two or whole tiles.
inline std::vector<double> stairs(Random& random, int cores) {
  std::vector<double> curve;
  double value = uniform(random, 0.01, 0.3);
  for (int n = 1; n <= cores; ++n) {
    if (n > 1 && integer(random, 0, 3) == 0) value += uniform(random, 0.05, 1.0);
    curve.push_back(value);
  }
  scale_to_one(curve);
  return curve;
}

// Anything at all.
inline std::vector<double> wild(Random& random, int cores) {
  std::vector<double> curve;
  for (int n = 1; n <= cores; ++n) curve.push_back(uniform(random, 0.01, 1.0));
  scale_to_one(curve);
  return curve;
}

inline std::vector<double> any(Random& random, int cores) {
  switch (integer(random, 0, 2)) {
    case 0:
      return smooth(random, cores);
    case 1:
      return stairs(random, cores);
    default:
      return wild(random, cores);
  }
}

inline double progress(const LeaseDemand& demand, int cores) {
  double best = 0;
  for (int n = 0; n < cores && n < static_cast<int>(demand.progress.size()); ++n) {
    best = std::max(best, demand.progress[static_cast<std::size_t>(n)]);
  }
  return best;
}

// The greatest sum of weight × progress, everybody with one core at least, by trying everything.
inline double brute_force(const std::vector<LeaseDemand>& demands, int cores,
                          std::size_t first = 0) {
  if (first == demands.size()) return 0;
  const int later = static_cast<int>(demands.size() - first) - 1;
  double best = 0;
  for (int n = demands[first].floor; n <= cores - later; ++n) {
    best = std::max(best, demands[first].weight * progress(demands[first], n) +
                              brute_force(demands, cores - n, first + 1));
  }
  return best;
}

}  // namespace optile::sched::curves
