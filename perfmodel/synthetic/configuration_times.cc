#include "perfmodel/synthetic/configuration_times.h"

#include <algorithm>

namespace optile::perfmodel {
namespace {

std::size_t index_of(int width) {
  return static_cast<std::size_t>(width - 1);
}

// The list of a binding, as const as the times that it belongs to.
template <typename Times>
auto list_of(Times& times, Binding binding) -> decltype(&times.spread) {
  switch (binding) {
    case Binding::kSpread:
      return &times.spread;
    case Binding::kCompact:
      return &times.compact;
    case Binding::kMixed:
      return &times.mixed;
    case Binding::kNone:
      break;
  }
  return nullptr;
}

constexpr Binding kBindings[] = {Binding::kSpread, Binding::kCompact, Binding::kMixed};

}  // namespace

bool CaseSpace::admits(Configuration which) const {
  if (which.width < 1 || which.width > cores) return false;
  switch (which.binding) {
    case Binding::kSpread:
      return which.width <= tiles;
    case Binding::kCompact:
      return which.width >= 2 && tiles < cores && (!pairs || which.width % 2 == 0);
    case Binding::kMixed:
      return pairs && which.width >= 3 && which.width % 2 == 1;
    case Binding::kNone:
      break;
  }
  return false;
}

std::vector<Configuration> CaseSpace::all() const {
  std::vector<Configuration> cases;
  for (int width = 1; width <= cores; ++width) {
    for (const Binding binding : kBindings) {
      if (admits({width, binding})) cases.push_back({width, binding});
    }
  }
  return cases;
}

CaseSpace case_space(const Machine& machine) {
  CaseSpace space{0, 0, true};
  for (const Tile& tile : machine.tiles) {
    int allowed = 0;
    for (const int core : tile.cores) {
      const auto& units = machine.cores[static_cast<std::size_t>(core)].units;
      allowed += std::any_of(units.begin(), units.end(), [&](int unit) {
        return machine.units[static_cast<std::size_t>(unit)].allowed;
      });
    }
    space.cores += allowed;
    space.tiles += allowed > 0;
    space.pairs = space.pairs && (allowed == 0 || allowed == 2);
  }
  space.cores = std::max(space.cores, 1);
  space.tiles = std::max(space.tiles, 1);
  space.pairs = space.pairs && space.cores == 2 * space.tiles;
  return space;
}

double ConfigurationTimes::at(Configuration which) const {
  const auto* list = list_of(*this, which.binding);
  if (list == nullptr || which.width < 1 || index_of(which.width) >= list->size()) return kInfinity;
  return (*list)[index_of(which.width)];
}

void ConfigurationTimes::set(Configuration which, double seconds) {
  std::vector<double>* list = list_of(*this, which.binding);
  if (list == nullptr || which.width < 1) return;
  if (index_of(which.width) >= list->size()) list->resize(index_of(which.width) + 1, kInfinity);
  (*list)[index_of(which.width)] = seconds;
}

Configuration ConfigurationTimes::best() const {
  Configuration best;
  const std::size_t longest = std::max({spread.size(), compact.size(), mixed.size()});
  for (int width = 1; width <= static_cast<int>(longest); ++width) {
    const Configuration here = best_of_width(width);
    if (here.width != 0 && (best.width == 0 || at(here) < at(best))) best = here;
  }
  return best;
}

Configuration ConfigurationTimes::best_of_width(int width) const {
  Configuration best;
  for (const Binding binding : kBindings) {
    const Configuration here{width, binding};
    if (at(here) < kInfinity && (best.width == 0 || at(here) < at(best))) best = here;
  }
  return best;
}

}  // namespace optile::perfmodel
