#include "bindings/preload/core/library_op.h"

#include <errno.h>

#include "bindings/preload/core/callers.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/runtimes/framework_watch.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {

bool library_op_may_begin(const void* caller) {
  const int kept_errno = errno;
  notice_framework(caller);
  // A framework's calls belong to its ops, and sampling may be paused.
  const bool may = !framework_probe_active() && !is_on_a_worker(caller) && at_depth_0() != 0;
  errno = kept_errno;
  return may;
}

bool LibraryOp::may_begin(const void* caller, bool (*follows)(const void* real), const void* real) {
  if (environment().off || is_forked_child()) return false;
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) close_what_was_left(*thread, &op_, this);
  if (thread != nullptr && thread->depth > 0) {
    // An annotated op that only calls the library tells no runtime; a region in it may, later.
    if (thread->awaits_runtime) follows(real);
    return false;
  }
  return library_op_may_begin(caller);
}

void LibraryOp::begin(const optile_op_identity& identity, void* steers) {
  const int kept_errno = errno;
  open_ = true;
  IssuingThread* thread = steers == nullptr ? nullptr : issuing_thread();
  if (thread != nullptr) thread->steers = steers;
  op_begin(&identity, &op_);
  if (thread != nullptr) thread->steers = nullptr;
  thread = known_issuing_thread();
  if (thread != nullptr && thread->depth > 0) thread->outermost = &op_;
  errno = kept_errno;
}

LibraryOp::~LibraryOp() {
  if (!open_) return;
  const int kept_errno = errno;
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && thread->outermost == &op_) thread->outermost = nullptr;
  op_end(&op_);
  errno = kept_errno;
}

}  // namespace optile::preload
