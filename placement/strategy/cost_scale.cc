#include "placement/strategy/cost_scale.h"

#include <cmath>

namespace optile::placement {
namespace {

constexpr Total kGreatestScaled = Total{1} << 41;  // half a wall

}  // namespace

CostScale::CostScale(Total greatest) {
  while ((greatest >> bits_) >= kGreatestScaled) ++bits_;
}

double CostScale::scaled(Cost cost) const {
  if (cost >= kForbidden) return kWall;
  if (exact()) return std::ldexp(static_cast<double>(cost), -bits_);
  return std::ldexp(static_cast<double>(cost >> (bits_ - kGridBits)), -kGridBits);
}

double CostScale::nearest(Total sum) const {
  return std::ldexp(static_cast<double>(sum), -bits_);
}

Total CostScale::at_least(double scaled) const {
  const Total steps = grid_steps(scaled);
  if (bits_ >= kGridBits) return steps << (bits_ - kGridBits);
  const Total per_unit = Total{1} << (kGridBits - bits_);
  const Total whole = steps / per_unit;
  return whole * per_unit < steps ? whole + 1 : whole;
}

}  // namespace optile::placement
