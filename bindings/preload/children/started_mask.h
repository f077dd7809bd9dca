// The mask of a program that is started. It inherits that of the thread that starts it, and nobody
// widens it when the lease behind it does. So where that mask is the one that the daemon holds this
// process to, what is started gets the mask that this process came with: it runs as if there were
// no lease until it attaches itself. A mask that the program has set stays, and a forked child that
// executes nothing keeps the lease's: it is the program's own work.
//
// By program_file.h's rules. System calls only where the daemon holds this process to a mask.
#pragma once

#include <sched.h>

#include "bindings/abi/layout.h"
#include "bindings/preload/support/start_mask.h"

namespace optile::preload {

// The lease's mask off the calling thread, until it is put back: where nothing was started, or by
// another process than this one.
class StartedMask {
 public:
  StartedMask();
  void put_back();

 private:
  uint64_t held_ = 0;  // the lease's; 0: nothing was done
  UnitMask had_;
};

// Before a fork: nothing that the daemon tells this process is told to its children.
void note_mask_for_child();

// The program sets the mask of thread `tid` itself. Told to the daemon before the call, so that it
// puts no mask of a lease over it.
class OwnMask {
 public:
  OwnMask(int tid, size_t bytes, const cpu_set_t* units);
  void end(bool is_set);

 private:
  UnitMask mask_;
  int tid_;
  optile_thread_binding* told_ = nullptr;
};

}  // namespace optile::preload
