// Machines and budgets for the tests of this folder.
#pragma once

#include <algorithm>
#include <string>

#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"

namespace optile::sched::machines {

// As on processors with pairs of cores, chiplets of eight under two sockets, and one shared cache.
inline constexpr const char* kPairs = "pack:1 l2:34 core:2 pu:4";
inline constexpr const char* kChiplets = "pack:2 numa:1 l3:12 core:8 pu:2";
inline constexpr const char* kOneTile = "pack:1 l3:1 core:4 pu:1";

inline perfmodel::Machine machine(const std::string& description) {
  return perfmodel::make_machine_source(description)->read().value();
}

inline perfmodel::Budget whole(const perfmodel::Machine& m) {
  perfmodel::Budget budget;
  for (const auto& unit : m.units) budget.units.push_back(unit.os_index);
  std::sort(budget.units.begin(), budget.units.end());
  budget.cores = static_cast<int>(m.cores.size());
  return budget;
}

}  // namespace optile::sched::machines
