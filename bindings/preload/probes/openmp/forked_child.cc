#include "bindings/preload/probes/openmp/forked_child.h"

#include <errno.h>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/probes/openmp/region_width.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

using SetWidth = void (*)(int);

void leave_alone(int /*width*/) {}

// Of the runtime that this thread opened its first region with.
thread_local SetWidth set_width = nullptr;

}  // namespace

void note_team(const void* caller) {
  if (set_width != nullptr) return;
  const int kept_errno = errno;
  void* found = resolve_cached(caller, kSetNumThreads);
  const bool stays_behind =
      found != nullptr && runtime_kind(object_of(found)) == OPTILE_RUNTIME_LIBGOMP;
  set_width = stays_behind ? reinterpret_cast<SetWidth>(found) : leave_alone;
  errno = kept_errno;
}

void settle_forked_child() {
  if (set_width == nullptr || !may_steer()) return;
  IssuingThread* thread = known_issuing_thread();
  // The op that is open, if any, ends in the child too, where its width is nothing to go back to.
  if (thread != nullptr) {
    thread->actuated = false;
    forget_region_widths(thread->slot);
    thread->withdraw = nullptr;
  }
  set_width(1);
}

}  // namespace optile::preload
