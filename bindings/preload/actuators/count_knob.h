// A number of threads that a library keeps, neither OpenMP's nor OpenBLAS's, and takes from whoever
// sets it.
#pragma once

namespace optile::preload {

struct CountKnob {
  // What the program has, for the calling thread. Of a thread's count: not asked while ours is set.
  int (*get)() = nullptr;
  // Sets it; 0 = no word of ours any more, the library's own rules hold. Returns what was set.
  int (*set)(int count) = nullptr;

  // The process has one count and no thread its own. It is for one issuing thread, and what is set
  // stays until another op wants something else: a change costs more than some ops.
  bool of_process = false;

  bool usable() const { return get != nullptr && set != nullptr; }
};

}  // namespace optile::preload
