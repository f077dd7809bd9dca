#include "sched/cores/core_map.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

using perfmodel::Machine;

int allowed_threads(const Machine& machine, int core) {
  int count = 0;
  for (const int unit : machine.cores[at(core)].units) count += machine.units[at(unit)].allowed;
  return count;
}

std::vector<int> ordered_tiles(const Machine& machine) {
  const auto rank = [&](int index) {
    const perfmodel::Tile& tile = machine.tiles[at(index)];
    const int kind = tile.cores.empty() ? 0 : machine.cores[at(tile.cores.front())].kind;
    return std::tuple(-kind, tile.numa_node);
  };
  std::vector<int> order(machine.tiles.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  return order;
}

// By slot: which slots of its word are of its tile.
std::vector<std::uint64_t> bits_of(const std::vector<int>& tile_of) {
  constexpr int kWord = CoreSet::kWordSlots;
  std::vector<std::uint64_t> bits(tile_of.size(), 0);
  const int slots = static_cast<int>(tile_of.size());
  for (int slot = 0; slot < slots; ++slot) {
    const int word = slot / kWord * kWord;
    for (int other = word; other < std::min(word + kWord, slots); ++other) {
      const bool same = tile_of[at(other)] == tile_of[at(slot)];
      bits[at(slot)] |= std::uint64_t{same} << static_cast<unsigned>(other - word);
    }
  }
  return bits;
}

}  // namespace

base::Result<CoreMap> make_core_map(const Machine& machine) {
  CoreMap map;
  map.cores = 0;
  map.packages = std::max(1, machine.packages);
  std::map<int, int> node_of;  // NUMA node → ours
  int fewest_threads = 0;
  for (const int index : ordered_tiles(machine)) {
    const perfmodel::Tile& tile = machine.tiles[at(index)];
    CoreMap::Tile here{map.cores, 0, 0};
    for (const int core : tile.cores) {
      const int threads = allowed_threads(machine, core);
      if (threads == 0) continue;
      fewest_threads = fewest_threads == 0 ? threads : std::min(fewest_threads, threads);
      map.tile_of.push_back(static_cast<int>(map.tiles.size()));
      map.speed.push_back(machine.cores[at(core)].speed);
      ++map.cores;
      ++here.cores;
    }
    if (here.cores == 0) continue;
    here.node = node_of.try_emplace(tile.numa_node, static_cast<int>(node_of.size())).first->second;
    map.node_cores.resize(std::max(map.node_cores.size(), at(here.node) + 1), 0);
    map.node_cores[at(here.node)] += here.cores;
    map.node_tiles.resize(map.node_cores.size());
    // Past the most that can be scheduled the map is refused below.
    if (map.cores <= kMaxCores)
      map.node_tiles[at(here.node)].add(static_cast<int>(map.tiles.size()));
    map.smallest_tile = map.tiles.empty() ? here.cores : std::min(map.smallest_tile, here.cores);
    map.tiles.push_back(here);
  }
  if (map.cores == 0 || map.cores > kMaxCores) {
    return base::Error{base::ErrorKind::kInvalid,
                       "machine " + machine.name + " has " + std::to_string(map.cores) +
                           " cores that may be used; 1 to " + std::to_string(kMaxCores) +
                           " can be scheduled"};
  }
  map.tile_bits = bits_of(map.tile_of);
  map.nodes = static_cast<int>(node_of.size());
  map.one_speed =
      std::all_of(map.speed.begin(), map.speed.end(), [](double s) { return s == 1.0; });
  map.hardware_threads = fewest_threads;
  map.space = perfmodel::case_space(machine);
  return map;
}

}  // namespace optile::sched
