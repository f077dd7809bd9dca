// What one op instance costs in every case on one machine. Plain value; any thread.
#pragma once

#include <limits>
#include <vector>

#include "perfmodel/machine/machine.h"
#include "perfmodel/profile/configuration.h"

namespace optile::perfmodel {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Which cases a machine has, from its allowed cores (III-C of the paper, as
// docs/results/simulator.md puts it): spread 1 … tiles; compact 2 … cores, even where every tile is
// a pair; mixed the odd widths from 3 where every tile is a pair. Together they cover every width
// from 1 to the cores.
struct CaseSpace {
  int cores = 1;
  int tiles = 1;
  bool pairs = false;  // every tile has two cores

  bool admits(Configuration which) const;
  std::vector<Configuration> all() const;  // by width, then spread, compact, mixed

  bool operator==(const CaseSpace&) const = default;
};

CaseSpace case_space(const Machine& machine);

// Seconds by width: element 0 is width 1. kInfinity, or beyond the end: the binding does not admit
// the width. The times are those of the op alone on the machine, one thread to a core, on cores of
// speed 1; who runs it on slower cores, or beside others, stretches them.
struct ConfigurationTimes {
  std::vector<double> spread;
  std::vector<double> compact;
  std::vector<double> mixed;

  double at(Configuration which) const;  // kInfinity where there is none, and for Binding::kNone
  void set(Configuration which, double seconds);  // grows the list
  Configuration best() const;  // the fastest, the narrowest of equals; width 0 when empty
  // The fastest case of exactly this width; width 0 when there is none.
  Configuration best_of_width(int width) const;
};

}  // namespace optile::perfmodel
