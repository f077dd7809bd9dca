// PAPI keeps its perf descriptors to itself. A program may close all descriptors that it does not
// know, and the numbers may be its own files by the next read: then PAPI would read from them, or
// close them. So we find out which numbers PAPI got, and ask the kernel before every use whether
// they are still those events.
#pragma once

#include <stdint.h>

#include "bindings/abi/limits.h"

namespace optile::counters {

struct PerfDescriptor {
  int fd = -1;
  uint64_t id = 0;  // the kernel's, never used twice
};

// Finds the perf events that were opened between two moments, on numbers near the lowest free one.
class DescriptorGuard {
 public:
  // Before PAPI opens anything. One thread at a time.
  void look_before();
  // Afterwards; false unless exactly `count` new ones are found. They are closed on exec from now.
  bool look_after(uint32_t count);
  // Every one is still what it was.
  bool intact() const;

 private:
  static constexpr uint32_t kNearby = 96;  // numbers that are looked at

  int first_ = 0;
  uint64_t before_[kNearby] = {};
  uint32_t count_ = 0;
  PerfDescriptor ours_[OPTILE_GROUP_EVENTS];
};

}  // namespace optile::counters
