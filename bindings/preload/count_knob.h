// A number of threads that a library keeps for the calling thread, neither OpenMP's nor OpenBLAS's,
// and takes from whoever sets it.
#pragma once

namespace optile::preload {

struct CountKnob {
  int (*get)() = nullptr;  // what is in force for the calling thread; not asked while ours is
  // Sets it; 0 = no word of ours any more, the library's own rules hold. Returns what was set.
  int (*set)(int count) = nullptr;

  bool usable() const { return get != nullptr && set != nullptr; }
};

}  // namespace optile::preload
