// Algorithms of oneTBB as ops: a root task that a thread gives to be executed and waits for. So is
// waiting for work that was given before, and a pipeline; these are observed only. Only where the
// thread is in no task, op, region and framework; what tasks call is part of the op.
#pragma once

#include "bindings/preload/core/library_op.h"
#include "bindings/preload/probes/tbb/tbb_tasks.h"

namespace optile::preload {

// Lives on the stack of the calling thread around the real function `entry`. `context`: the group
// that is waited for. `caller`: the address behind the call.
class TbbScope {
 public:
  // Around `execute_and_wait` of `task`.
  TbbScope(const void* task, const void* context, const void* caller, const void* entry);
  // Around a wait for work that `what` names by the caller.
  TbbScope(TbbTask (*what)(const void* caller), const void* context, const void* caller,
           const void* entry);
  ~TbbScope();
  TbbScope(const TbbScope&) = delete;
  TbbScope& operator=(const TbbScope&) = delete;

 private:
  bool may_begin(const void* caller, const void* entry);
  void begin(TbbTask who, bool fixed, const void* context);

  bool open_ = false;
  LibraryOp op_;
};

// The group of tasks at `context` goes. An exception takes its group with it, and no TbbScope: an
// op that waits for this one has been left.
void tbb_context_ends(const void* context);

// Work is given to oneTBB by another way than an algorithm, and may go on beside ops: how many
// threads there are is not theirs alone.
void note_other_tbb_work();

// `task` is given to `entry`, the real function. In a task it is part of what that is part of, and
// so it is of an algorithm that begins like this; elsewhere nobody knows who waits for it, and how:
// it is other work.
void note_given_tbb_task(const void* task, const void* entry);

}  // namespace optile::preload
