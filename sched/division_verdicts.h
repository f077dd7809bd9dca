// What was found of cores that passed from one program to another. Plain values.
#pragma once

#include <compare>
#include <string>

namespace optile::sched {

struct DivisionKey {
  std::string giver;
  std::string taker;
  int giver_cores = 0;  // before
  int taker_cores = 0;
  int cores = 0;         // that pass
  double weights = 1.0;  // the giver's over the taker's

  auto operator<=>(const DivisionKey&) const = default;
};

struct DivisionVerdict {
  DivisionKey key;
  bool pays = false;
  double gain = 0;  // of the weighted progress of the two
};

}  // namespace optile::sched
