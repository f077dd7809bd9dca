// A case: one (width, binding) under which an op instance can run (spec: III-C of the hill climb
// paper, where it is a number of threads "with" or "without cache sharing").
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace optile::perfmodel {

enum class Binding : uint8_t {
  kNone = 0,     // masks are left alone
  kCompact = 1,  // tiles are filled: neighbouring threads share one
  kSpread = 2,   // at most one thread to a tile
  kMixed = 3,    // tiles of two are filled and one is left half full; in curves and simulation only
};

const char* binding_name(Binding binding);

struct Configuration {
  int width = 0;  // threads; 0 = the program's default width
  Binding binding = Binding::kNone;

  auto operator<=>(const Configuration&) const = default;
};

// Every width from 1 to `widest`, with the masks left alone.
std::vector<Configuration> unbound_cases(int widest);

}  // namespace optile::perfmodel
