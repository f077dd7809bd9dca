#include "placement/policy/groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "placement/infinity.h"

namespace optile::placement::policy {
namespace {

class Grouping {
 public:
  explicit Grouping(const Units& units)
      : units_(units),
        to_(index(units.size())),
        times_(index(units.size()) * index(units.devices())),
        count_(units.size()) {
    std::iota(to_.begin(), to_.end(), 0);
    for (UnitId unit = 0; unit < units.size(); ++unit) {
      for (DeviceId d = 0; d < units.devices(); ++d) time(unit, d) = units.time_ms(unit, d);
      memory_.push_back(units.memory(unit));
      shortest_.push_back(shortest(unit, unit));
    }
  }

  int count() const { return count_; }
  UnitId of(UnitId unit) {
    while (to_[index(unit)] != unit) {
      to_[index(unit)] = to_[index(to_[index(unit)])];
      unit = to_[index(unit)];
    }
    return unit;
  }

  // Whether they are together now.
  bool join(UnitId a, UnitId b, double most_time, double most_memory) {
    a = of(a);
    b = of(b);
    if (a == b) return true;
    const double together = shortest(a, b);
    if (together > most_time || !(together < kInfinity)) return false;
    if (memory_[index(a)] + memory_[index(b)] > most_memory) return false;
    for (DeviceId d = 0; d < units_.devices(); ++d) time(a, d) += time(b, d);
    memory_[index(a)] += memory_[index(b)];
    shortest_[index(a)] = together;
    to_[index(b)] = a;
    --count_;
    return true;
  }

  double whole_time() const { return std::accumulate(shortest_.begin(), shortest_.end(), 0.0); }
  double whole_memory() const { return std::accumulate(memory_.begin(), memory_.end(), 0.0); }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  double& time(UnitId unit, DeviceId d) {
    return times_[index(unit) * index(units_.devices()) + index(d)];
  }
  // Of both together on the device that runs them fastest; of one where they are the same.
  double shortest(UnitId a, UnitId b) {
    double best = kInfinity;
    for (DeviceId d = 0; d < units_.devices(); ++d) {
      best = std::min(best, a == b ? time(a, d) : time(a, d) + time(b, d));
    }
    return best;
  }

  const Units& units_;
  std::vector<UnitId> to_;
  std::vector<double> times_, memory_, shortest_;
  int count_;
};

}  // namespace

Units grouped(const Units& units, const std::vector<UnitId>& order, int most) {
  Grouping grouping(units);
  // The longest transfers first; of a net with many readers each pair.
  std::vector<std::tuple<double, UnitId, UnitId>> pairs;
  for (std::size_t i = 0; i < units.nets().size(); ++i) {
    const Net& net = units.nets()[i];
    for (const UnitId reader : units.readers(static_cast<int>(i))) {
      pairs.emplace_back(-net.ms, net.producer, reader);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  const double time = grouping.whole_time() / most;
  const double memory = grouping.whole_memory() / most;
  // Small groups first, so that they grow evenly.
  for (double size = 0.5; size <= 4 && grouping.count() > most; size *= 2) {
    for (const auto& [ms, a, b] : pairs) {
      if (grouping.count() <= most) break;
      grouping.join(a, b, size * time, size * memory);
    }
  }
  for (double size = 1; size <= 2.0 * most && grouping.count() > most; size *= 2) {
    for (std::size_t i = 1; i < order.size() && grouping.count() > most; ++i) {
      grouping.join(order[i - 1], order[i], size * time, size * memory);
    }
  }
  std::vector<UnitId> to(static_cast<std::size_t>(units.size()));
  std::vector<UnitId> number(to.size(), -1);
  int count = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    UnitId& group = number[static_cast<std::size_t>(grouping.of(unit))];
    if (group < 0) group = count++;
    to[static_cast<std::size_t>(unit)] = group;
  }
  return units.contracted(to, count);
}

}  // namespace optile::placement::policy
