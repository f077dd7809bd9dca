#include "placement/methods/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/neighbours.h"

namespace optile::placement {
namespace {

constexpr double kImbalancePrice = 1;  // lambda: the whole work out of balance against all bytes
constexpr double kFalls = 1e-12;       // of the potential, at least, relative to the whole

// Cheap and stateful units as part of the neighbour they exchange most bytes with.
std::vector<UnitId> kept_units(const Units& units, DeviceId device, double cheap, int& count) {
  double whole = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) whole += units.time_ms(unit, device);
  const auto kept = [&](UnitId unit) {
    return units.time_ms(unit, device) >= cheap * whole && !units.stateful(unit);
  };
  std::vector<UnitId> to(static_cast<std::size_t>(units.size()), -1);
  count = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    if (kept(unit)) to[static_cast<std::size_t>(unit)] = count++;
  }
  if (count == 0) {  // nothing is expensive: everything stays as it is
    for (UnitId& unit : to) unit = count++;
    return to;
  }
  follow_neighbours(units, &Net::bytes, to);
  for (UnitId& unit : to) {
    if (unit < 0) unit = count++;
  }
  return to;
}

class Refinement {
 public:
  Refinement(const Units& units, const Cluster& cluster, UnitAssignment start,
             const RefineOptions& options)
      : units_(units), options_(options), at_(std::move(start)) {
    const auto devices = static_cast<std::size_t>(cluster.size());
    load_.resize(devices);
    memory_.resize(devices);
    share_.resize(devices);
    working_ = working_devices(cluster);
    for (const Device& device : cluster.devices) {
      caps_.push_back(device.memory_bytes);
      speed_.push_back(device.speed);
    }
    double speeds = 0;
    for (const DeviceId d : working_) speeds += cluster.device(d).speed;
    for (UnitId unit = 0; unit < units.size(); ++unit) {
      whole_ += work(unit);
      load_[index(at_[index(unit)])] += work(unit);
      memory_[index(at_[index(unit)])] += units.memory(unit);
    }
    for (const Net& net : units.nets()) bytes_ += net.bytes;
    for (const DeviceId d : working_) share_[index(d)] = whole_ * speed_[index(d)] / speeds;
  }

  Refined run(Budget& budget) {
    Refined result;
    bool moved = true;
    while (moved && result.moves < options_.most_moves && !budget.spent_now()) {
      moved = false;
      for (UnitId unit = 0; unit < units_.size(); ++unit) {
        budget.count();
        const DeviceId to = better_place(unit);
        if (to == at_[index(unit)]) continue;
        place(unit, to);
        moved = true;
        if (++result.moves >= options_.most_moves || budget.spent()) break;
      }
    }
    result.ended = !moved;
    result.assignment = at_;
    return result;
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }
  // On a device of speed 1.
  double work(UnitId unit) const {
    const double ms = units_.time_ms(unit, working_.empty() ? 0 : working_.front());
    return std::isfinite(ms) ? ms * speed_[index(working_.front())] : 0;
  }
  bool fits(UnitId unit, DeviceId to) const {
    return memory_[index(to)] + units_.memory(unit) <= caps_[index(to)] &&
           std::isfinite(units_.time_ms(unit, to));
  }
  void place(UnitId unit, DeviceId to) {
    const DeviceId from = at_[index(unit)];
    load_[index(from)] -= work(unit);
    load_[index(to)] += work(unit);
    memory_[index(from)] -= units_.memory(unit);
    memory_[index(to)] += units_.memory(unit);
    at_[index(unit)] = to;
  }
  // Beyond epsilon of a share, of both devices together.
  double violation(DeviceId a, double load_a, DeviceId b, double load_b) const {
    const auto of = [&](DeviceId d, double load) {
      const double off = std::abs(load - share_[index(d)]) - options_.epsilon * share_[index(d)];
      return std::max(0.0, off);
    };
    return of(a, load_a) + of(b, load_b);
  }
  double imbalance(DeviceId a, double load_a, DeviceId b, double load_b) const {
    const auto of = [&](DeviceId d, double load) {
      const double off = (load - share_[index(d)]) / std::max(whole_, 1e-300);
      return off * off;
    };
    return of(a, load_a) + of(b, load_b);
  }
  // Bytes that the nets at the unit carry between devices if it is at `there`.
  double cut(UnitId unit, DeviceId there) const {
    double sum = 0;
    std::vector<DeviceId> devices;
    const auto add = [&](int net) {
      const Net& one = units_.nets()[index(net)];
      const auto device_of = [&](UnitId u) { return u == unit ? there : at_[index(u)]; };
      devices.assign({device_of(one.producer)});
      for (const UnitId reader : units_.readers(net)) {
        const DeviceId d = device_of(reader);
        if (std::find(devices.begin(), devices.end(), d) == devices.end()) devices.push_back(d);
      }
      sum += one.bytes * static_cast<double>(devices.size() - 1);
    };
    for (const int net : units_.produced(unit)) add(net);
    for (const int net : units_.read(unit)) add(net);
    return sum;
  }
  DeviceId better_place(UnitId unit) const {
    const DeviceId q = at_[index(unit)];
    const double c = work(unit);
    const double price = kImbalancePrice * std::max(bytes_, 1.0);
    const double cut_now = cut(unit, q);
    DeviceId best = q;
    double best_violation = 0;
    double best_rest = 0;
    for (const DeviceId p : working_) {
      if (p == q || !fits(unit, p)) continue;
      const double load_q = load_[index(q)];
      const double load_p = load_[index(p)];
      const double violated =
          violation(q, load_q - c, p, load_p + c) - violation(q, load_q, p, load_p);
      const double rest =
          cut(unit, p) - cut_now +
          price * (imbalance(q, load_q - c, p, load_p + c) - imbalance(q, load_q, p, load_p));
      const bool level = std::abs(violated) <= kFalls * whole_;
      if (!level && violated > 0) continue;
      if (level && rest >= -kFalls * price) continue;
      const double falls = level ? 0 : violated;
      if (best != q && (falls > best_violation || (falls == best_violation && rest >= best_rest))) {
        continue;
      }
      best = p;
      best_violation = falls;
      best_rest = rest;
    }
    return best;
  }

  const Units& units_;
  const RefineOptions& options_;
  UnitAssignment at_;
  std::vector<DeviceId> working_;
  std::vector<double> load_, memory_, share_, caps_, speed_;
  double whole_ = 0;
  double bytes_ = 0;
};

}  // namespace

Refined refine(const Units& units, const Cluster& cluster, const UnitAssignment& start,
               const RefineOptions& options, Budget& budget) {
  int count = 0;
  const std::vector<UnitId> to =
      kept_units(units, working_devices(cluster).front(), options.cheap, count);
  const Units coarse = units.contracted(to, count);
  UnitAssignment first(static_cast<std::size_t>(count), -1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    DeviceId& device = first[static_cast<std::size_t>(to[i])];
    if (device < 0) device = start[i];
  }
  Refined found = Refinement(coarse, cluster, first, options).run(budget);
  UnitAssignment fine;
  for (const UnitId unit : to) fine.push_back(found.assignment[static_cast<std::size_t>(unit)]);
  make_runnable(units, fine);
  found.assignment = std::move(fine);
  return found;
}

}  // namespace optile::placement
