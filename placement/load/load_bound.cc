#include "placement/load/load_bound.h"

#include <algorithm>
#include <vector>

#include "placement/infinity.h"

namespace optile::placement {
namespace {}  // namespace

// For prices y_d >= 0 with sum 1, sum over units of min_d y_d t(u, d) is at most the largest load:
// linear programming's dual. Prices: equal on accelerators, and a share for CPUs that is searched.
double work_bound(const LoadProblem& problem) {
  const Units& units = problem.units;
  const Cluster& cluster = problem.cluster;
  double longest = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    double best = kInfinity;
    for (DeviceId d = 0; d < cluster.size(); ++d) best = std::min(best, units.time_ms(unit, d));
    longest = std::max(longest, best);
  }
  double speeds[2] = {0, 0};
  for (const Device& device : cluster.devices) {
    speeds[device.kind == DeviceKind::kCpu ? 1 : 0] += device.speed;
  }
  // A price for a device is its kind's share, split by speed: a faster one is dearer to occupy.
  const auto bound = [&](double cpu_share) {
    std::vector<double> price;
    for (const Device& device : cluster.devices) {
      const bool cpu = device.kind == DeviceKind::kCpu;
      price.push_back((cpu ? cpu_share : 1 - cpu_share) * device.speed / speeds[cpu ? 1 : 0]);
    }
    double sum = 0;
    for (UnitId unit = 0; unit < units.size(); ++unit) {
      double least = kInfinity;
      for (DeviceId d = 0; d < cluster.size(); ++d) {
        const double time = units.time_ms(unit, d);
        if (time < kInfinity) least = std::min(least, price[static_cast<std::size_t>(d)] * time);
      }
      sum += least;
    }
    return sum;
  };
  if (speeds[0] == 0) return std::max(longest, bound(1));
  if (speeds[1] == 0) return std::max(longest, bound(0));
  double low = 0;  // the bound is concave in the share
  double high = 1;
  for (int i = 0; i < 100; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (bound(a) < bound(b)) {
      low = a;
    } else {
      high = b;
    }
  }
  return std::max({longest, bound(0), bound(1), bound((low + high) / 2)});
}

}  // namespace optile::placement
