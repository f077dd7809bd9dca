#include "sched/simulation/manual_search.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace optile::sched {
namespace {

// Op runs that may be simulated for one optimum: a second or two.
constexpr double kTriedOps = 2e6;
constexpr int kUsualInter = 8;
constexpr double kCoarseRatio = 1.12;  // from one coarse width to the next
constexpr int kRefined = 4;            // coarse settings whose neighbourhood is tried whole

std::vector<int> all_widths(const CoreMap& map) {
  std::vector<int> widths;
  for (int width = 1; width <= map.cores; ++width) widths.push_back(width);
  for (int times = 2; times <= map.hardware_threads; ++times) widths.push_back(times * map.cores);
  return widths;
}

std::vector<int> coarse_widths(const CoreMap& map) {
  std::set<int> widths{1, map.cores, map.space.tiles};
  for (int width = map.cores; width > 1;) {
    widths.insert(width);
    width = std::min(width - 1, static_cast<int>(width / kCoarseRatio));
  }
  for (const int divisor : {2, 3, 4, 6, 8}) widths.insert(std::max(1, map.cores / divisor));
  for (int times = 2; times <= map.hardware_threads; ++times) widths.insert(times * map.cores);
  return {widths.begin(), widths.end()};
}

struct Tried {
  UniformSetting setting;
  double seconds = 0;
};

class Search {
 public:
  Search(const StepOutline& outline, const StepConditions& conditions)
      : outline_(outline), conditions_(conditions) {}

  base::Status attempt(UniformSetting setting) {
    const bool known = std::any_of(tried_.begin(), tried_.end(),
                                   [&](const Tried& one) { return one.setting == setting; });
    if (known) return {};
    // What takes longer than the best so far need not be simulated to its end.
    const auto seconds = uniform_seconds(outline_, conditions_, setting, limit());
    if (!seconds.ok()) return seconds.error();
    tried_.push_back({setting, seconds.value()});
    if (seconds.value() < best_.seconds) best_ = tried_.back();
    return {};
  }

  int best_inter() const { return tried_.empty() ? 1 : best_.setting.inter; }

  std::vector<Tried> ranked() const {
    std::vector<Tried> all = tried_;
    std::sort(all.begin(), all.end(), [](const Tried& a, const Tried& b) {
      return std::tuple(a.seconds, a.setting.inter, a.setting.intra) <
             std::tuple(b.seconds, b.setting.inter, b.setting.intra);
    });
    return all;
  }

 private:
  double limit() const { return best_.seconds * kCoarseRatio; }

  const StepOutline& outline_;
  const StepConditions& conditions_;
  std::vector<Tried> tried_;
  Tried best_{{}, perfmodel::kInfinity};
};

}  // namespace

base::Result<double> uniform_seconds(const StepOutline& outline, const StepConditions& conditions,
                                     UniformSetting setting, double limit) {
  StepConditions quiet = conditions;
  quiet.noise = {};
  UniformStrategy strategy(outline, setting);
  StepSimulator simulator(outline, quiet);
  simulator.give_up_after(limit);
  const auto outcome = simulator.run(&strategy, 0);
  if (!outcome.ok()) return outcome.error();
  return outcome.value().seconds;
}

base::Result<ManualOptimum> find_manual_optimum(const StepOutline& outline,
                                                const StepConditions& conditions) {
  const CoreMap& map = *outline.map;
  const std::vector<int> every = all_widths(map);
  const double runs = static_cast<double>(every.size() * outline.graph->nodes.size()) * kUsualInter;
  const bool whole = runs <= kTriedOps;
  Search search(outline, conditions);
  // From the widest down: they are soonest done, and set the limit for the others.
  std::vector<int> widths = whole ? every : coarse_widths(map);
  std::reverse(widths.begin(), widths.end());
  for (int inter = 1; inter <= std::min(kMostInter, search.best_inter() + kInterBeyondBest);
       ++inter) {
    for (const int intra : widths) {
      const base::Status status = search.attempt({inter, intra});
      if (!status.ok()) return status.error();
    }
  }
  const std::vector<Tried> first = search.ranked();
  for (int i = 0; !whole && i < kRefined; ++i) {
    const UniformSetting around = first[static_cast<std::size_t>(i)].setting;
    const int reach = static_cast<int>(around.intra * (kCoarseRatio - 1)) + 1;
    for (int intra = around.intra - reach; intra <= around.intra + reach; ++intra) {
      if (intra < 1 || intra > map.cores) continue;
      const base::Status status = search.attempt({around.inter, intra});
      if (!status.ok()) return status.error();
    }
  }
  const std::vector<Tried> all = search.ranked();
  return ManualOptimum{all.front().setting, all.front().seconds, static_cast<int>(all.size())};
}

}  // namespace optile::sched
