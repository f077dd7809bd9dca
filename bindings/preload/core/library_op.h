// A call into a library as an op: outside any other op, region and framework. One object on the
// stack of the calling thread around the real call; ends the op when it goes.
#pragma once

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/core/probe.h"

namespace optile::preload {

// Whether an op of a library may begin on this thread, on which no op is open: somebody listens, no
// framework is at work, and it is no worker of a region. `caller`: an address in the code that
// calls.
bool library_op_may_begin(const void* caller);

class LibraryOp {
 public:
  LibraryOp() = default;
  ~LibraryOp();
  LibraryOp(const LibraryOp&) = delete;
  LibraryOp& operator=(const LibraryOp&) = delete;

  // Whether an op of a library may begin here: somebody listens, and nothing that it would belong
  // to is open. `caller`: an address in the code that calls. `real`: the function that is called,
  // whose library an op that is open already may be waiting for (annotations.h).
  bool may_begin(const void* caller, bool (*follows)(const void* real), const void* real);
  // `steers`: what the op steers in place of what is chosen (width_actuator.h); null = that.
  void begin(const optile_op_identity& identity, void* steers = nullptr);

 private:
  bool open_ = false;
  optile_open_op op_ = {};
};

}  // namespace optile::preload
