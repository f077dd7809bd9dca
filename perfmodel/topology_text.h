// Where a text stops being a topology as `lstopo FILE.xml` writes it: hwloc says only that it is
// none. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace optile::perfmodel {

struct TopologyProblem {
  int line = 1;    // from 1 on
  int column = 1;  // in bytes, from 1 on
  std::string what;
};

// The first thing that is wrong with it as XML, or as a document of <object> elements in a
// <topology>; nothing where its contents are what hwloc does not like.
std::optional<TopologyProblem> find_topology_problem(std::string_view text);

}  // namespace optile::perfmodel
