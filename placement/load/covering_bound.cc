#include "placement/load/covering_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/at.h"
#include "placement/load/fitting_sets.h"
#include "placement/methods/cbc_program.h"

namespace optile::placement {
namespace {

using base::at;

constexpr std::size_t kMostStates = 4096;  // at a time
constexpr double kMostUnits = 1e6;         // times devices
constexpr double kWork = 5e5;              // states of all steps and kinds, at most about
constexpr double kMostBytes = 4.5e8;       // of all cells
constexpr int kFewestCells = 256;
constexpr int kMostGrid = 1 << 16;
constexpr std::size_t kMostGroups = 500;  // of units whose prices have one factor
constexpr double kProof = 1e-7;           // by how much less is covered than has to be
constexpr double kNear = 2;               // cells of what can be proven with them: near enough
constexpr double kSafe = 1 - 1e-9;        // for sums that are rounded
constexpr double kRoom = 1 + 1e-9;        // of caps: what fits but for rounding does fit
constexpr std::size_t kMostSets = 4000;
constexpr double kInward = 0.6;  // how far towards the centre prices are asked for

// Devices that differ in nothing but memory, of which each counts as having what the best of them
// has; CPUs pay for no transfers.
struct DeviceClass {
  int count = 0;
  bool pays = true;
  double cap = 0;              // bytes
  std::vector<double> time;    // of each unit; infinite where it does not fit by itself
  std::vector<double> memory;  // of each unit, as part of the cap; empty where all together fit
};

void add_memory(const Units& units, DeviceClass& kind) {
  kind.cap *= kRoom;
  double sum = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    sum += units.memory(unit);
    if (units.memory(unit) > kind.cap) {
      kind.time[at(unit)] = std::numeric_limits<double>::infinity();
    }
  }
  if (sum <= kind.cap || !(kind.cap > 0)) return;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    kind.memory.push_back(units.memory(unit) / kind.cap);
  }
}

std::vector<DeviceClass> kinds_of(const LoadProblem& problem) {
  std::vector<DeviceClass> kinds;
  std::vector<DeviceId> first;
  for (DeviceId d = 0; d < problem.cluster.size(); ++d) {
    const Device& device = problem.cluster.device(d);
    const auto same = [&](DeviceId other) {
      const Device& one = problem.cluster.device(other);
      return one.kind == device.kind && one.speed == device.speed;
    };
    const auto known = std::find_if(first.begin(), first.end(), same);
    if (known != first.end()) {
      DeviceClass& kind = kinds[static_cast<std::size_t>(known - first.begin())];
      ++kind.count;
      kind.cap = std::max(kind.cap, device.memory_bytes);
      continue;
    }
    first.push_back(d);
    DeviceClass kind{1, device.kind != DeviceKind::kCpu, device.memory_bytes, {}, {}};
    for (UnitId unit = 0; unit < problem.units.size(); ++unit) {
      kind.time.push_back(problem.units.time_ms(unit, d));
    }
    kinds.push_back(std::move(kind));
  }
  for (DeviceClass& kind : kinds) add_memory(problem.units, kind);
  return kinds;
}

// What fills a load without regard to transfers, the dearest for its time first, the last in part.
class Filling {
 public:
  void price(const std::vector<double>& time, const std::vector<double>& price) {
    units_.clear();
    for (std::size_t unit = 0; unit < time.size(); ++unit) {
      if (std::isfinite(time[unit]) && price[unit] > 0) {
        units_.push_back({static_cast<UnitId>(unit), time[unit], price[unit]});
      }
    }
    std::sort(units_.begin(), units_.end(),
              [](const Unit& a, const Unit& b) { return a.price * b.time > b.price * a.time; });
  }
  // Calls `take(unit, part)`.
  template <typename Take>
  void fill(double load, Take take) const {
    for (const Unit& unit : units_) {
      const double part = unit.time > load ? load / unit.time : 1;
      take(unit.unit, part);
      load -= unit.time * part;
      if (!(load > 0) && part < 1) return;
    }
  }
  double best(double load) const {
    double sum = 0;
    for (const Unit& unit : units_) {
      const double part = unit.time > load ? load / unit.time : 1;
      sum += unit.price * part;
      load -= unit.time * part;
      if (part < 1) break;
    }
    return sum;
  }

 private:
  struct Unit {
    UnitId unit = 0;
    double time = 0;
    double price = 0;
  };
  std::vector<Unit> units_;
};

// How much of each group a set has, in the groups' own prices, and of the cap; a row of the
// program.
struct Cover {
  std::size_t kind = 0;
  double load = 0;
  double memory = 0;
  std::vector<std::pair<int, double>> groups;
};

// A group is one unit, or where there are many, neighbours in the order of the plan. Within one the
// prices are in proportion to the least times, and a little everywhere.
struct PriceGroups {
  std::vector<double> base;   // prices of units before factors
  std::vector<int> of_unit;   // the group of each unit
  std::vector<double> whole;  // price of each group
};

PriceGroups group_prices(const std::vector<DeviceClass>& kinds, const FittingPlan& plan) {
  const auto& steps = plan.steps();
  PriceGroups groups;
  std::vector<double>& base = groups.base;
  base.assign(kinds.front().time.size(), 0);
  double sum = 0;
  for (std::size_t unit = 0; unit < base.size(); ++unit) {
    double least = std::numeric_limits<double>::infinity();
    for (const DeviceClass& kind : kinds) least = std::min(least, kind.time[unit]);
    base[unit] = std::isfinite(least) ? least : 0;
    sum += base[unit];
  }
  const double little = sum > 0 ? 1e-3 * sum / static_cast<double>(base.size()) : 1;
  const double whole = sum + little * static_cast<double>(base.size());
  for (double& price : base) price = (price + little) / whole;
  const std::size_t count = std::min(base.size(), kMostGroups);
  groups.of_unit.assign(base.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    groups.of_unit[at(steps[i].unit)] = static_cast<int>(i * count / steps.size());
  }
  groups.whole.assign(count, 0);
  for (std::size_t unit = 0; unit < base.size(); ++unit) {
    groups.whole[at(groups.of_unit[unit])] += base[unit];
  }
  return groups;
}

// What was looked at last.
struct Prices {
  std::vector<double> of_unit;
  std::vector<double> of_cap;  // of each kind, of all its memory; 0 without a cap
  double covered = 0;          // how much of them the devices can cover
};

class CoveringProgram {
 public:
  CoveringProgram(const LoadProblem& problem, double known, double cost, Budget& budget)
      : kinds_(kinds_of(problem)),
        plan_(problem.units, states_for(problem.units, kinds_.size())),
        budget_(budget),
        low_(known),
        cost_(cost),
        target_(cost),
        groups_(group_prices(kinds_, plan_)) {
    centre_.assign(groups_.whole.size(), 1);
    centre_.resize(groups_.whole.size() + kinds_.size(), 0);
    for (const DeviceClass& kind : kinds_) {
      if (kind.pays) sets_.emplace_back(plan_);
    }
    fillings_.resize(kinds_.size());
    std::int32_t most = 1;  // states at a time, of which there are two lists
    for (const FittingPlan::Step& step : plan_.steps()) most = std::max(most, step.states);
    const double of_cell = FittingSets::kChoiceBytes * static_cast<double>(plan_.states()) *
                               static_cast<double>(sets_.size()) +
                           2 * FittingSets::kValueBytes * static_cast<double>(most);
    const double cells = kMostBytes / std::max(of_cell, 1.0);
    most_grid_ = static_cast<int>(std::clamp<double>(cells, kFewestCells, kMostGrid));
  }

  CoveringBound run() {
    bool complete = false;
    for (grid_ = std::min(kFewestCells * 2, most_grid_); !budget_.spent_now();) {
      climb();
      complete = done() || (grid_ >= most_grid_ && !budget_.spent_now());
      if (complete) break;
      grid_ = std::min(grid_ * 2, most_grid_);
    }
    return {low_, complete};
  }

 private:
  static std::size_t states_for(const Units& units, std::size_t kinds) {
    const double each =
        kWork / (std::max(1.0, static_cast<double>(units.size())) * static_cast<double>(kinds));
    return static_cast<std::size_t>(std::clamp(each, 1.0, static_cast<double>(kMostStates)));
  }
  double near() const { return kNear / grid_; }
  bool done() const { return low_ >= cost_ * kSafe; }

  // Looks for the largest load that can be proven, with the cells as they are.
  void climb() {
    covers_.clear();
    double high = cost_;
    target_ = low_ + (high - low_) / 4;
    double at_centre = look(centre_, target_);
    while (!budget_.spent_now() && !done()) {
      if (low_ >= target_) {
        target_ = low_ + std::max((high - low_) / 4, near() * high);
        if (target_ >= high) return;
        at_centre = look(centre_, target_);
        continue;
      }
      const std::vector<double> outer = master();
      if (outer.empty()) {  // no prices prove this load
        high = target_;
        if (high - low_ <= 2 * near() * high) return;
        target_ = low_ + (high - low_) / 2;
        at_centre = look(centre_, target_);
        continue;
      }
      std::vector<double> inner(outer.size());
      for (std::size_t g = 0; g < outer.size(); ++g) {
        inner[g] = kInward * centre_[g] + (1 - kInward) * outer[g];
      }
      const double covered = look(inner, target_);
      if (covered < at_centre) {
        at_centre = covered;
        centre_ = std::move(inner);
      } else if (look(outer, target_) < at_centre) {
        centre_ = outer;
        at_centre = prices_.covered;
      }
      thin();
    }
  }

  // Prices by the groups' factors, which make 1 in sum, and behind them each kind's price of its
  // cap; what they prove is kept. Returns how much of it the devices can cover within `load`: below
  // 1 it is proven.
  double look(const std::vector<double>& factors, double load) {
    prices_.of_unit.resize(groups_.base.size());
    for (std::size_t unit = 0; unit < groups_.base.size(); ++unit) {
      prices_.of_unit[unit] = groups_.base[unit] * factors[at(groups_.of_unit[unit])];
    }
    prices_.of_cap.assign(factors.begin() + static_cast<std::ptrdiff_t>(groups_.whole.size()),
                          factors.end());
    std::size_t paying = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const std::vector<double>& prices = with_memory(k);
      if (kinds_[k].pays) {
        sets_[paying++].price(kinds_[k].time, prices, cost_, grid_);
      } else {
        fillings_[k].price(kinds_[k].time, prices);
      }
    }
    raise();
    add_covers(load);
    prices_.covered = covered(load);
    return prices_.covered;
  }

  // A set that fits the cap pays no more for its memory than the whole cap costs: with that taken
  // off the prices, no set that fits is worth more than the dearest of all and the cap's price.
  const std::vector<double>& with_memory(std::size_t k) {
    const DeviceClass& kind = kinds_[k];
    if (kind.memory.empty() || prices_.of_cap[k] == 0) return prices_.of_unit;
    less_memory_ = prices_.of_unit;
    for (std::size_t unit = 0; unit < prices_.of_unit.size(); ++unit) {
      less_memory_[unit] -= prices_.of_cap[k] * kind.memory[unit];
    }
    return less_memory_;
  }

  double covered(double load) const {
    double sum = 0;
    std::size_t paying = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const double one = kinds_[k].pays ? sets_[paying++].best(load) : fillings_[k].best(load);
      sum += kinds_[k].count * (one + prices_.of_cap[k]);
    }
    return sum;
  }

  // The largest load at which these prices are not covered.
  void raise() {
    const double whole =
        std::accumulate(prices_.of_unit.begin(), prices_.of_unit.end(), 0.0) * (1 - kProof);
    double good = low_;
    if (covered(good) >= whole) return;
    double bad = cost_;
    while (bad - good > 1e-7 * cost_) {
      const double middle = (good + bad) / 2;
      (covered(middle) < whole ? good : bad) = middle;
    }
    if (good <= low_) return;
    low_ = std::min(good * kSafe, cost_);
  }

  void add_covers(double load) {
    std::size_t paying = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      std::vector<double> parts(groups_.whole.size(), 0);
      Cover cover{k, load, 0, {}};
      const auto take = [&](UnitId unit, double part) {
        parts[at(groups_.of_unit[at(unit)])] += part * groups_.base[at(unit)];
        if (!kinds_[k].memory.empty()) cover.memory += part * kinds_[k].memory[at(unit)];
      };
      if (kinds_[k].pays) {
        const FittingSets::Set set = sets_[paying++].set(load);
        cover.load = set.load;
        for (const UnitId unit : set.units) take(unit, 1);
      } else {
        fillings_[k].fill(load, take);
      }
      for (std::size_t g = 0; g < parts.size(); ++g) {
        if (parts[g] > 0) cover.groups.emplace_back(static_cast<int>(g), parts[g]);
      }
      covers_.push_back(std::move(cover));
    }
  }

  // Factors and prices of caps under which the sets known so far cover least; empty where that is
  // all.
  std::vector<double> master() {
    Program program;
    for (std::size_t g = 0; g < groups_.whole.size(); ++g) program.add({});
    std::vector<int> caps;
    for (const DeviceClass& kind : kinds_) {
      Program::Column column;
      if (kind.memory.empty()) column.upper = 0;
      caps.push_back(program.add(column));
    }
    std::vector<int> dearest;
    for (const DeviceClass& kind : kinds_) {
      Program::Column column;
      column.cost = kind.count;
      dearest.push_back(program.add(column));
    }
    Program::Row all;
    all.lower = all.upper = 1;
    for (std::size_t g = 0; g < groups_.whole.size(); ++g) {
      all.entries.emplace_back(static_cast<int>(g), groups_.whole[g]);
    }
    program.rows.push_back(std::move(all));
    for (std::size_t k = 0; k < kinds_.size(); ++k) {  // a set of nothing
      if (kinds_[k].memory.empty()) continue;
      Program::Row row;
      row.lower = 0;
      row.entries = {{dearest[k], 1}, {caps[k], -1}};
      program.rows.push_back(std::move(row));
    }
    for (const Cover& cover : covers_) {
      if (cover.load > target_ * (1 + kProof)) continue;
      Program::Row row;
      row.lower = 0;
      for (const auto& [group, part] : cover.groups) row.entries.emplace_back(group, -part);
      row.entries.emplace_back(dearest[cover.kind], 1);
      if (!kinds_[cover.kind].memory.empty()) {
        row.entries.emplace_back(caps[cover.kind], cover.memory - 1);
      }
      program.rows.push_back(std::move(row));
    }
    const ProgramAnswer answer = solve_program(program, Program::kFree, budget_);
    if (answer.solution.empty()) return {};
    double least = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      least += kinds_[k].count * answer.solution[at(dearest[k])];
    }
    if (least >= 1 - 10 * kProof) return {};
    std::vector<double> factors(
        answer.solution.begin(),
        answer.solution.begin() + static_cast<std::ptrdiff_t>(groups_.whole.size() + caps.size()));
    for (double& factor : factors) factor = std::max(0.0, factor);
    return factors;
  }

  // The oldest sets are those of prices that were given up long ago.
  void thin() {
    if (covers_.size() <= kMostSets) return;
    covers_.erase(covers_.begin(), covers_.begin() + static_cast<std::ptrdiff_t>(kMostSets / 4));
  }

  std::vector<DeviceClass> kinds_;
  FittingPlan plan_;
  Budget& budget_;
  double low_;
  double cost_;
  double target_;
  int grid_ = 0;  // cells
  int most_grid_ = 0;
  std::vector<FittingSets> sets_;  // of kinds that pay
  std::vector<Filling> fillings_;  // of the others, by kind
  PriceGroups groups_;
  std::vector<double> centre_;  // factors, and prices of caps
  Prices prices_;
  std::vector<double> less_memory_;
  std::vector<Cover> covers_;
};

}  // namespace

CoveringBound covering_bound(const LoadProblem& problem, double known, double cost,
                             Budget& budget) {
  if (!(known < cost)) return {known, true};
  const double size = static_cast<double>(problem.units.size()) * problem.cluster.size();
  if (size > kMostUnits) return {known, true};
  return CoveringProgram(problem, known, cost, budget).run();
}

}  // namespace optile::placement
