// The chain of PipeDream: intervals of an order, cut where the largest load is least.
#include <algorithm>

#include "placement/methods/partitioners.h"

#include "placement/infinity.h"

namespace optile::placement {
namespace {

// Devices that are alike: a stage may run on any of them.
struct DevicesOfKind {
  DeviceId example = 0;
  std::vector<DeviceId> devices;
};

std::vector<DevicesOfKind> kinds_of(const Units& units, const Cluster& cluster) {
  std::vector<DevicesOfKind> kinds;
  for (const DeviceId d : working_devices(cluster)) {
    const auto alike = [&](const DevicesOfKind& kind) {
      const Device& other = cluster.device(kind.example);
      return other.speed == cluster.device(d).speed && other.kind == cluster.device(d).kind &&
             other.memory_bytes == cluster.device(d).memory_bytes;
    };
    const auto found = std::find_if(kinds.begin(), kinds.end(), alike);
    if (found == kinds.end()) {
      kinds.push_back({d, {d}});
    } else {
      found->devices.push_back(d);
    }
  }
  (void)units;
  return kinds;
}

// The loads of all intervals that begin at `first`, by their ends.
class Intervals {
 public:
  Intervals(const Units& units, const std::vector<UnitId>& order)
      : units_(units),
        order_(order),
        place_(order.size()),
        inside_(units.nets().size()),
        stamp_(units.nets().size(), -1) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      place_[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    }
  }
  void begin(int first) {
    first_ = first;
    transfers_ = 0;
    memory_ = 0;
    end_ = first;
  }
  // Takes the next unit in.
  void extend() {
    const UnitId unit = order_[static_cast<std::size_t>(end_++)];
    memory_ += units_.memory(unit);
    for (const int net : units_.produced(unit)) {
      const double ms = units_.nets()[static_cast<std::size_t>(net)].ms;
      const int readers = static_cast<int>(units_.readers(net).size());
      const int read_here = inside(net);
      if (read_here > 0) transfers_ -= ms;        // it no longer arrives
      if (read_here < readers) transfers_ += ms;  // it leaves
    }
    for (const int net : units_.read(unit)) {
      const Net& one = units_.nets()[static_cast<std::size_t>(net)];
      const int home = place_[static_cast<std::size_t>(one.producer)];
      const int read_here = ++mark(net);
      if (home >= first_ && home < end_) {
        if (read_here == static_cast<int>(units_.readers(net).size())) transfers_ -= one.ms;
      } else if (read_here == 1) {
        transfers_ += one.ms;
      }
    }
  }
  double transfers() const { return transfers_; }
  double memory() const { return memory_; }

 private:
  int inside(int net) const {
    const auto at = static_cast<std::size_t>(net);
    return stamp_[at] == first_ ? inside_[at] : 0;
  }
  int& mark(int net) {
    const auto at = static_cast<std::size_t>(net);
    if (stamp_[at] != first_) inside_[at] = 0;
    stamp_[at] = first_;
    return inside_[at];
  }
  const Units& units_;
  const std::vector<UnitId>& order_;
  std::vector<int> place_;
  std::vector<int> inside_;  // readers within the interval
  std::vector<int> stamp_;
  int first_ = 0;
  int end_ = 0;
  double transfers_ = 0;
  double memory_ = 0;
};

struct Cell {
  double cost = kInfinity;
  int before = -1;  // where the last interval begins
};

UnitAssignment cut(const Units& units, const Cluster& cluster, const std::vector<UnitId>& order,
                   Budget& budget) {
  const std::vector<DevicesOfKind> kinds = kinds_of(units, cluster);
  std::vector<DeviceId> devices;  // stages take the devices in this order
  for (const DevicesOfKind& kind : kinds) {
    devices.insert(devices.end(), kind.devices.begin(), kind.devices.end());
  }
  const int n = static_cast<int>(order.size());
  const std::size_t stages = devices.size();
  // best[k][i]: the first i units on the first k devices, some of which may stay empty.
  std::vector<std::vector<Cell>> best(stages + 1,
                                      std::vector<Cell>(static_cast<std::size_t>(n) + 1));
  best[0][0].cost = 0;
  Intervals intervals(units, order);
  for (int first = 0; first < n && !budget.spent_now(); ++first) {
    const auto from = static_cast<std::size_t>(first);
    for (std::size_t k = 0; k < stages; ++k) {  // an empty stage
      if (best[k][from].cost < best[k + 1][from].cost)
        best[k + 1][from] = {best[k][from].cost, first};
    }
    intervals.begin(first);
    std::vector<double> time(kinds.size(), 0);
    for (int end = first + 1; end <= n; ++end) {
      const UnitId unit = order[static_cast<std::size_t>(end) - 1];
      intervals.extend();
      budget.count();
      std::size_t stage = 0;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        time[kind] += units.time_ms(unit, kinds[kind].example);
        const double cap = cluster.device(kinds[kind].example).memory_bytes;
        const bool pays = cluster.device(kinds[kind].example).kind != DeviceKind::kCpu;
        const double busy = time[kind] + (pays ? intervals.transfers() : 0);
        double load = busy;
        if (intervals.memory() > cap) load = kInfinity;
        for (std::size_t i = 0; i < kinds[kind].devices.size(); ++i, ++stage) {
          const double cost = std::max(best[stage][from].cost, load);
          Cell& cell = best[stage + 1][static_cast<std::size_t>(end)];
          if (cost < cell.cost) cell = {cost, first};
        }
      }
    }
  }
  UnitAssignment assignment(static_cast<std::size_t>(units.size()), devices.front());
  auto end = static_cast<std::size_t>(n);
  std::size_t stage = stages;
  while (stage > 0 && !(best[stage][end].cost < kInfinity)) --stage;
  for (; stage > 0 && end > 0; --stage) {
    int first = best[stage][end].before;
    if (best[stage - 1][end].cost <= best[stage][end].cost) first = static_cast<int>(end);
    for (auto i = static_cast<std::size_t>(first); i < end; ++i) {
      assignment[static_cast<std::size_t>(order[i])] = devices[stage - 1];
    }
    end = static_cast<std::size_t>(first);
  }
  return assignment;
}

}  // namespace

UnitAssignment chain_cut(const Units& units, const Cluster& cluster,
                         const std::vector<UnitId>& order, int most, Budget& budget) {
  UnitAssignment assignment;
  if (units.size() <= most) {
    assignment = cut(units, cluster, order, budget);
  } else {
    // Neighbours in the order are taken together, as evenly as their number allows.
    std::vector<UnitId> to(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      to[static_cast<std::size_t>(order[i])] =
          static_cast<UnitId>(i * static_cast<std::size_t>(most) / order.size());
    }
    const Units coarse = units.contracted(to, most);
    std::vector<UnitId> straight(static_cast<std::size_t>(most));
    for (int i = 0; i < most; ++i) straight[static_cast<std::size_t>(i)] = i;
    const UnitAssignment found = cut(coarse, cluster, straight, budget);
    for (const UnitId unit : to) assignment.push_back(found[static_cast<std::size_t>(unit)]);
  }
  make_runnable(units, assignment);
  return assignment;
}

}  // namespace optile::placement
