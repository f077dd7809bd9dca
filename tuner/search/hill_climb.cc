#include "tuner/search/hill_climb.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace optile::tuner {

using perfmodel::Binding;
using perfmodel::Configuration;

int hill_climb_interval(int interval, int cores) {
  if (interval > 0) return interval;
  return cores <= 8 ? 1 : 4;
}

std::vector<Configuration> hill_climb_grid(const std::vector<Configuration>& admitted, int cores,
                                           int interval) {
  const int x = hill_climb_interval(interval, cores);
  std::set<int> widths = {1, cores};
  for (int width = x; width < cores; width += x) widths.insert(width);
  std::vector<Configuration> grid;
  for (const Configuration& at : admitted) {
    if (widths.contains(at.width)) grid.push_back(at);
  }
  const auto rank = [](Binding binding) { return binding == Binding::kCompact ? 1 : 0; };
  std::sort(grid.begin(), grid.end(), [&](const Configuration& a, const Configuration& b) {
    return a.width != b.width ? a.width < b.width : rank(a.binding) < rank(b.binding);
  });
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  return grid;
}

namespace {

class HillClimb final : public Search {
 public:
  HillClimb(const OpSamples& samples, const std::vector<Configuration>& grid, Configuration own)
      : samples_(samples), own_(own) {
    for (const Configuration& at : grid) climbs_[at.binding].grid.push_back(at);
    review();
  }

  void review() override {
    for (auto& [binding, climb] : climbs_) {
      while (!climb.stopped && climb.next < climb.grid.size()) {
        const Configuration at = climb.grid[climb.next];
        const perfmodel::SampleSet* set = samples_.profile.find(at);
        if (set == nullptr || set->count() == 0) {
          const auto asked = samples_.asked.find(at);
          if (asked == samples_.asked.end() || asked->second < kAskedInVain) break;
          ++climb.next;  // cannot be had
          continue;
        }
        const auto ns = static_cast<double>(set->median().count());
        if (climb.best_ns > 0 && ns > climb.best_ns) {
          climb.stopped = true;
          break;
        }
        climb.best = at;
        climb.best_ns = ns;
        ++climb.next;
      }
      if (climb.next >= climb.grid.size()) climb.stopped = true;
    }
  }

  // All bindings climb side by side: only the narrowest pending width is run.
  std::vector<Wish> wishes() const override {
    int narrowest = std::numeric_limits<int>::max();
    for (const auto& [binding, climb] : climbs_) {
      if (!climb.stopped) narrowest = std::min(narrowest, climb.grid[climb.next].width);
    }
    std::vector<Wish> wishes;
    for (const auto& [binding, climb] : climbs_) {
      if (climb.stopped || climb.grid[climb.next].width != narrowest) continue;
      const Configuration at = climb.grid[climb.next];
      // The first execution at a new width is no sample.
      wishes.push_back({at, samples_.touched.contains(at) ? 1 : 2});
    }
    return wishes;
  }

  // Only what it asked for: all ops run the same width while they climb, a stopped one its best.
  bool tolerates(Configuration at, double) const override {
    for (const Wish& wish : wishes()) {
      if (wish.at == at) return true;
    }
    return false;
  }

  Configuration best() const override {
    const Climb* fastest = nullptr;
    for (const auto& [binding, climb] : climbs_) {
      if (climb.best_ns <= 0) continue;
      if (fastest == nullptr || climb.best_ns < fastest->best_ns) fastest = &climb;
    }
    return fastest == nullptr ? own_ : fastest->best;
  }

  Rule rule() const override { return best() == own_ ? Rule::kDefaultWidth : Rule::kHillClimb; }

 private:
  // One binding's climb.
  struct Climb {
    std::vector<Configuration> grid;
    std::size_t next = 0;  // index of the case to look at
    bool stopped = false;
    Configuration best;
    double best_ns = 0;  // 0 = nothing sampled yet
  };

  const OpSamples& samples_;
  Configuration own_;
  std::map<Binding, Climb> climbs_;
};

}  // namespace

std::unique_ptr<Search> make_hill_climb(const OpSamples& samples,
                                        const std::vector<Configuration>& grid, Configuration own) {
  return std::make_unique<HillClimb>(samples, grid, own);
}

}  // namespace optile::tuner
