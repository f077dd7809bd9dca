// A law of an op's time over its width: time = serial + parallel / width + overhead * width, least
// squares through a few measured points. It only proposes widths to try; a measurement decides.
#pragma once

#include <optional>
#include <vector>

namespace optile::tuner {

struct LawPoint {
  int width = 1;
  double ns = 0;
};

struct ScalingLaw {
  double serial_ns = 0;
  double parallel_ns = 0;
  double overhead_ns = 0;

  double at(int width) const { return serial_ns + parallel_ns / width + overhead_ns * width; }
};

// nullopt with fewer than three widths, or when they say nothing. Weighted by relative error.
std::optional<ScalingLaw> fit_scaling_law(const std::vector<LawPoint>& points);

}  // namespace optile::tuner
