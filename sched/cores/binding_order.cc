#include "sched/cores/binding_order.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

using perfmodel::Binding;
using perfmodel::Budget;
using perfmodel::Machine;

// Faster cores first, then one NUMA node after the other, and in a node the whole tiles before
// those that the budget has only a part of: a team that could sit on whole tiles does.
std::vector<int> tile_order(const Machine& machine, const std::set<int>& units) {
  const auto rank = [&](int index) {
    const perfmodel::Tile& tile = machine.tiles[at(index)];
    const bool whole = std::all_of(tile.cores.begin(), tile.cores.end(), [&](int core) {
      const auto& mine = machine.cores[at(core)].units;
      return std::any_of(mine.begin(), mine.end(), [&](int unit) {
        return units.contains(machine.units[at(unit)].os_index);
      });
    });
    const int kind = tile.cores.empty() ? 0 : machine.cores[at(tile.cores.front())].kind;
    return std::tuple(-kind, tile.numa_node, whole ? 0 : 1);
  };
  std::vector<int> order(machine.tiles.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<decltype(rank(0))> ranks;
  ranks.reserve(order.size());
  std::transform(order.begin(), order.end(), std::back_inserter(ranks), rank);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return ranks[at(a)] < ranks[at(b)]; });
  return order;
}

// Per tile, the cores of the budget in hwloc's logical order; tiles without any are left out.
std::vector<std::vector<int>> budget_tiles(const Machine& machine, const std::set<int>& units) {
  std::vector<std::vector<int>> tiles;
  for (const int index : tile_order(machine, units)) {
    const perfmodel::Tile& tile = machine.tiles[at(index)];
    std::vector<int> cores;
    for (int core : tile.cores) {
      const auto& of_core = machine.cores[at(core)].units;
      if (std::any_of(of_core.begin(), of_core.end(),
                      [&](int unit) { return units.contains(machine.units[at(unit)].os_index); })) {
        cores.push_back(core);
      }
    }
    if (!cores.empty()) tiles.push_back(std::move(cores));
  }
  return tiles;
}

std::vector<int> core_order(const std::vector<std::vector<int>>& tiles, Binding binding) {
  std::vector<int> order;
  if (binding != Binding::kSpread) {
    for (const auto& tile : tiles) order.insert(order.end(), tile.begin(), tile.end());
    return order;
  }
  std::size_t longest = 0;
  for (const auto& tile : tiles) longest = std::max(longest, tile.size());
  for (std::size_t round = 0; round < longest; ++round) {
    for (const auto& tile : tiles) {
      if (round < tile.size()) order.push_back(tile[round]);
    }
  }
  return order;
}

bool all_pairs(const std::vector<std::vector<int>>& tiles) {
  return std::all_of(tiles.begin(), tiles.end(), [](const auto& tile) { return tile.size() == 2; });
}

}  // namespace

std::vector<int> binding_order(const Machine& machine, const Budget& budget, Binding binding) {
  const std::set<int> units(budget.units.begin(), budget.units.end());
  const std::vector<int> cores = core_order(budget_tiles(machine, units), binding);
  std::vector<int> order;
  std::size_t most_siblings = 0;
  for (int core : cores)
    most_siblings = std::max(most_siblings, machine.cores[at(core)].units.size());
  // All first hardware threads, then all second ones: siblings last.
  for (std::size_t rank = 0; rank < most_siblings; ++rank) {
    for (int core : cores) {
      std::vector<int> mine;
      for (int unit : machine.cores[at(core)].units) {
        const int os_index = machine.units[at(unit)].os_index;
        if (units.contains(os_index)) mine.push_back(os_index);
      }
      if (rank < mine.size()) order.push_back(mine[rank]);
    }
  }
  return order;
}

std::vector<int> admitted_widths(const Machine& machine, const Budget& budget, Binding binding) {
  const std::set<int> units(budget.units.begin(), budget.units.end());
  const std::vector<std::vector<int>> tiles = budget_tiles(machine, units);
  int cores = 0;
  for (const auto& tile : tiles) cores += static_cast<int>(tile.size());
  const int usable = std::min(cores, budget.cores);
  const bool tiles_matter = tiles.size() > 1 && static_cast<int>(tiles.size()) < cores;

  std::vector<int> widths;
  if (!tiles_matter) {
    if (binding != Binding::kNone) return {};
    for (int width = 1; width <= std::max(1, usable); ++width) widths.push_back(width);
    return widths;
  }
  if (binding == Binding::kSpread) {
    const int most = std::min(usable, static_cast<int>(tiles.size()));
    for (int width = 1; width <= most; ++width) widths.push_back(width);
  } else if (binding == Binding::kCompact) {
    const int stride = all_pairs(tiles) ? 2 : 1;
    for (int width = 2; width <= usable; width += stride) widths.push_back(width);
  } else if (binding == Binding::kMixed && all_pairs(tiles)) {
    for (int width = 3; width <= usable; width += 2) widths.push_back(width);
  }
  return widths;
}

}  // namespace optile::sched
