// OpenMP regions as the program opens them: time and count for the op around them, or, outside any
// op, an anonymous op of their own. Its width is left alone, or set before it (region_width.h). A
// region of a kernel that PyTorch compiled is an op with a width (compiled_kernel.h).
#pragma once

#include <stdint.h>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/core/probe.h"
#include "bindings/preload/probes/openmp/trampoline.h"

namespace optile::preload {

// Lives on the master's stack around the real entry point.
class RegionScope {
 public:
  // `threads`: what the region names itself, 0 = nothing. `reductions`: the runtime looks into the
  // first word of the region's data.
  RegionScope(void (*body)(void*), void* data, unsigned threads, bool reductions);
  // One whose function is called in a way of its own, so that nothing is put in its place.
  RegionScope(const void* function, unsigned threads);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

  // The region names its number of threads; 0 = it does not.
  void asks_for(unsigned threads) const {
    if (thread_ != nullptr && threads > thread_->region_threads) thread_->region_threads = threads;
  }

  // What to hand to the runtime in place of the program's function and data.
  void (*function() const)(void*) { return wrapped_ ? run_trampoline : trampoline_.function; }
  void* data() { return wrapped_ ? static_cast<void*>(&trampoline_) : trampoline_.data; }

 private:
  // `function`: what holds the region's body, in the object that opens it.
  void enter(const void* function, unsigned threads);
  void observe_alone(const void* function, bool clause);
  void observe_kernel(const void* function, bool clause);
  void open(const optile_op_identity& identity);
  void wrap(IssuingThread& thread, const void* caller, bool reductions);

  IssuingThread* thread_ = nullptr;  // set when the region belongs to an open op
  uint64_t begin_ = 0;
  bool opened_ = false;  // an op of its own
  bool alone_ = false;   // and one that may be tuned as a region of the program's own
  bool wrapped_ = false;
  Trampoline trampoline_;
  optile_open_op open_ = {};
};

// A team begins whose end is not seen, or one of several; `function` lies in the object that opens
// it. Its width is the program's own.
void unfollowed_team_begins(const void* function, bool one_of_several);

}  // namespace optile::preload
