#include "perfmodel/machine/built_in_machines.h"

#include <algorithm>

namespace optile::perfmodel {
namespace {

// Tiles of one shape that follow each other.
struct TileRow {
  int package = 0;
  int numa_node = 0;
  int tiles = 1;
  int cores = 1;             // in each tile
  int hardware_threads = 1;  // of each core
  int kind = 0;
  double speed = 1.0;
};

struct BuiltIn {
  const char* name;
  std::vector<TileRow> rows;
};

// One thread of an efficient core does a little more than half of a fast one's work: the ratio of
// their clocks times that of their issue widths on the processors that first mixed them.
constexpr double kEfficientSpeed = 0.55;

const std::vector<BuiltIn>& built_ins() {
  static const std::vector<BuiltIn> all = {
      {"knl", {{0, 0, 34, 2, 4}}},
      {"epyc-2x96", {{0, 0, 12, 8, 2}, {1, 1, 12, 8, 2}}},
      {"xeon-snc", {{0, 0, 1, 43, 2}, {0, 1, 1, 43, 2}, {0, 2, 1, 42, 2}}},
      {"grace-144", {{0, 0, 1, 72, 1}, {1, 1, 1, 72, 1}}},
      {"hybrid", {{0, 0, 1, 8, 2, 1}, {0, 0, 4, 4, 1, 0, kEfficientSpeed}}},
  };
  return all;
}

void add_core(const TileRow& row, Machine* machine) {
  Core core;
  core.tile = static_cast<int>(machine->tiles.size());
  core.kind = row.kind;
  core.speed = row.speed;
  const int index = static_cast<int>(machine->cores.size());
  for (int rank = 0; rank < row.hardware_threads; ++rank) {
    const int unit = static_cast<int>(machine->units.size());
    core.units.push_back(unit);
    machine->units.push_back({unit, index, rank, true});
  }
  machine->cores.push_back(std::move(core));
}

Machine machine_of(const BuiltIn& built_in) {
  Machine machine;
  machine.name = built_in.name;
  machine.fingerprint = std::string("built-in ") + built_in.name;
  for (const TileRow& row : built_in.rows) {
    for (int tile = 0; tile < row.tiles; ++tile) {
      std::vector<int> cores;
      for (int core = 0; core < row.cores; ++core) {
        cores.push_back(static_cast<int>(machine.cores.size()));
        add_core(row, &machine);
      }
      machine.tiles.push_back({std::move(cores), row.numa_node, row.package});
    }
    machine.numa_nodes = std::max(machine.numa_nodes, row.numa_node + 1);
    machine.packages = std::max(machine.packages, row.package + 1);
  }
  return machine;
}

}  // namespace

std::vector<std::string> built_in_machine_names() {
  std::vector<std::string> names;
  for (const BuiltIn& one : built_ins()) names.emplace_back(one.name);
  return names;
}

std::optional<Machine> built_in_machine(const std::string& name) {
  for (const BuiltIn& one : built_ins()) {
    if (name == one.name) return machine_of(one);
  }
  return std::nullopt;
}

}  // namespace optile::perfmodel
