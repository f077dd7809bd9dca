#include "perfmodel/synthetic/noise.h"

#include <cmath>
#include <numbers>

#include "base/hash.h"

namespace optile::perfmodel {
namespace {

// Uniform in (0, 1), a different one for every (seed, step, node, stream).
double uniform(std::uint64_t seed, std::uint64_t step, std::uint64_t node, std::uint64_t stream) {
  std::uint64_t mixed = base::hash_word(seed, base::kHashSeed);
  mixed = base::hash_word(step, mixed);
  mixed = base::hash_word(node, mixed);
  mixed = base::hash_word(stream, mixed);
  mixed = base::hash_word(mixed, mixed >> 17);
  constexpr double kSteps = 9007199254740992.0;  // 2^53
  return (static_cast<double>(mixed >> 11) + 0.5) / kSteps;
}

}  // namespace

double Noise::factor(std::uint64_t step, std::uint64_t node) const {
  if (spread <= 0) return 1.0;
  const double radius = std::sqrt(-2.0 * std::log(uniform(seed, step, node, 0)));
  const double angle = 2.0 * std::numbers::pi * uniform(seed, step, node, 1);
  return std::exp(spread * radius * std::cos(angle));
}

}  // namespace optile::perfmodel
