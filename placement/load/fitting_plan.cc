#include <algorithm>
#include <deque>

#include "placement/load/fitting_sets.h"

#include "base/at.h"

namespace optile::placement {
namespace {

using base::at;

constexpr int kMostOpen = 31;        // nets, two bits each
constexpr int kMostCandidates = 64;  // for the next place of the order
constexpr std::uint64_t kDivided = 2;

template <typename Visit>
void each_net(const Units& units, UnitId unit, Visit visit) {
  for (const int net : units.produced(unit)) visit(net);
  for (const int net : units.read(unit)) visit(net);
}

template <typename Visit>
void each_unit(const Units& units, int net, Visit visit) {
  visit(units.nets()[at(net)].producer);
  for (const UnitId reader : units.readers(net)) visit(reader);
}

// Next always a unit that closes as many nets and opens as few as possible. Each net's units are
// gone through when its first one is placed and when its last one is left: nets may have hundreds
// of thousands of readers.
std::vector<UnitId> frugal_order(const Units& units) {
  std::vector<int> left(units.nets().size());
  // Nets that a unit would open, less those that it would close.
  std::vector<int> opens(at(units.size()), 0);
  for (std::size_t net = 0; net < left.size(); ++net) {
    left[net] = 1 + static_cast<int>(units.readers(static_cast<int>(net)).size());
    each_unit(units, static_cast<int>(net), [&](UnitId unit) { ++opens[at(unit)]; });
  }
  const std::vector<int> whole = left;
  std::vector<UnitId> starts(at(units.size()));
  for (UnitId unit = 0; unit < units.size(); ++unit) starts[at(unit)] = unit;
  const auto nets = [&](UnitId unit) {
    return units.produced(unit).size() + units.read(unit).size();
  };
  std::stable_sort(starts.begin(), starts.end(),
                   [&](UnitId a, UnitId b) { return nets(a) < nets(b); });
  std::vector<bool> placed(at(units.size()));
  std::vector<bool> met(at(units.size()));
  std::deque<UnitId> candidates;
  std::vector<UnitId> order;
  const auto place = [&](UnitId unit) {
    placed[at(unit)] = true;
    order.push_back(unit);
    each_net(units, unit, [&](int net) {
      if (left[at(net)] == whole[at(net)]) {
        each_unit(units, net, [&](UnitId other) {
          --opens[at(other)];
          if (met[at(other)] || placed[at(other)]) return;
          met[at(other)] = true;
          candidates.push_back(other);
        });
      }
      if (--left[at(net)] != 1) return;
      each_unit(units, net, [&](UnitId other) { --opens[at(other)]; });
    });
  };
  for (const UnitId start : starts) {
    if (!placed[at(start)]) place(start);
    while (!candidates.empty()) {
      std::size_t best = 0;
      int least = std::numeric_limits<int>::max();
      const std::size_t looked = std::min<std::size_t>(candidates.size(), kMostCandidates);
      for (std::size_t i = 0; i < looked; ++i) {
        if (opens[at(candidates[i])] >= least) continue;
        least = opens[at(candidates[i])];
        best = i;
      }
      const UnitId next = candidates[best];
      candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(best));
      if (!placed[at(next)]) place(next);
    }
  }
  return order;
}

struct Arrival {
  std::uint64_t key = 0;
  FittingPlan::Move move;
};

}  // namespace

// Goes through the order once and notes every state that can be met.
class FittingPlanner {
 public:
  FittingPlanner(const Units& units, std::size_t most_states, FittingPlan& plan)
      : units_(units),
        most_states_(std::max<std::size_t>(most_states, 1)),
        plan_(plan),
        left_(units.nets().size()),
        slot_(units.nets().size(), -1),
        out_(units.nets().size()) {
    for (std::size_t net = 0; net < left_.size(); ++net) {
      left_[net] = 1 + static_cast<int>(units.readers(static_cast<int>(net)).size());
    }
    for (int slot = kMostOpen; slot-- > 0;) free_.push_back(slot);
  }

  void run() {
    for (const UnitId unit : frugal_order(units_)) step(unit);
  }

 private:
  void step(UnitId unit) {
    std::vector<int> fresh;
    std::vector<int> known;
    std::uint64_t closing = 0;
    each_net(units_, unit, [&](int net) {
      if (out_[at(net)]) return;
      (slot_[at(net)] < 0 ? fresh : known).push_back(net);
    });
    for (const int net : fresh) {
      while (free_.empty()) leave_out(cheapest(), nullptr);
      slot_[at(net)] = free_.back();
      free_.pop_back();
      open_.push_back(net);
    }
    // Some had to be left out: each state would look at them.
    std::erase_if(fresh, [&](int net) { return slot_[at(net)] < 0; });
    std::erase_if(known, [&](int net) { return slot_[at(net)] < 0; });
    std::vector<Arrival> arrivals = arrive(fresh, known);
    each_net(units_, unit, [&](int net) {
      if (--left_[at(net)] > 0 || slot_[at(net)] < 0) return;
      closing |= mask(net);
      close(net);
    });
    for (Arrival& arrival : arrivals) arrival.key &= ~closing;
    gather(unit, arrivals);
  }

  std::uint64_t mask(int net) const { return std::uint64_t{3} << (2 * slot_[at(net)]); }

  std::vector<Arrival> arrive(const std::vector<int>& fresh, const std::vector<int>& known) const {
    std::vector<Arrival> arrivals;
    for (std::size_t state = 0; state < keys_.size(); ++state) {
      for (const bool in : {false, true}) {
        Arrival arrival{keys_[state], {static_cast<std::int32_t>(state), 0, in, 0}};
        const std::uint64_t mine = in ? 1 : 0;
        for (const int net : fresh) {
          arrival.key |= mine << (2 * slot_[at(net)]);
        }
        for (const int net : known) {
          const int shift = 2 * slot_[at(net)];
          const std::uint64_t was = (arrival.key >> shift) & 3;
          if (was == mine || was == kDivided) continue;
          arrival.key = (arrival.key & ~mask(net)) | (kDivided << shift);
          arrival.move.cut_ms += units_.nets()[at(net)].ms;
        }
        arrivals.push_back(arrival);
      }
    }
    return arrivals;
  }

  int cheapest() const {
    return *std::min_element(open_.begin(), open_.end(), [&](int a, int b) {
      return units_.nets()[at(a)].ms < units_.nets()[at(b)].ms;
    });
  }
  void close(int net) {
    free_.push_back(slot_[at(net)]);
    slot_[at(net)] = -1;
    open_.erase(std::find(open_.begin(), open_.end(), net));
  }
  // From here on the net costs nothing.
  void leave_out(int net, std::vector<Arrival>* arrivals) {
    const std::uint64_t gone = mask(net);
    for (std::uint64_t& key : keys_) key &= ~gone;
    if (arrivals != nullptr) {
      for (Arrival& arrival : *arrivals) arrival.key &= ~gone;
    }
    close(net);
    out_[at(net)] = true;
    ++plan_.left_out_;
  }

  static std::vector<std::uint64_t> keys_of(const std::vector<Arrival>& arrivals) {
    std::vector<std::uint64_t> keys;
    keys.reserve(arrivals.size());
    for (const Arrival& arrival : arrivals) keys.push_back(arrival.key);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  void gather(UnitId unit, std::vector<Arrival>& arrivals) {
    std::vector<std::uint64_t> keys = keys_of(arrivals);
    while (keys.size() > most_states_ && !open_.empty()) {
      leave_out(cheapest(), &arrivals);
      keys = keys_of(arrivals);
    }
    keys_ = std::move(keys);
    for (Arrival& arrival : arrivals) {
      arrival.move.to = static_cast<std::int32_t>(
          std::lower_bound(keys_.begin(), keys_.end(), arrival.key) - keys_.begin());
    }
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const Arrival& a, const Arrival& b) { return a.move.to < b.move.to; });
    plan_.steps_.push_back(
        {unit, static_cast<std::int32_t>(keys_.size()), plan_.first_moves_.size()});
    plan_.states_ += keys_.size();
    std::int32_t target = -1;
    for (const Arrival& arrival : arrivals) {
      if (arrival.move.to != target) plan_.first_moves_.push_back(plan_.moves_.size());
      target = arrival.move.to;
      plan_.moves_.push_back(arrival.move);
    }
    plan_.first_moves_.push_back(plan_.moves_.size());
  }

  const Units& units_;
  std::size_t most_states_;
  FittingPlan& plan_;
  std::vector<std::uint64_t> keys_ = {0};
  std::vector<int> left_;  // units of each net that are still to come
  std::vector<int> slot_;  // of an open net, else -1
  std::vector<bool> out_;  // left out
  std::vector<int> free_;
  std::vector<int> open_;
};

FittingPlan::FittingPlan(const Units& units, std::size_t most_states) {
  FittingPlanner(units, most_states, *this).run();
}

}  // namespace optile::placement
