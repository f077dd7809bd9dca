#include "bindings/preload/probes/openmp/trampoline.h"

#include "bindings/preload/core/op_counters.h"

namespace optile::preload {

void run_trampoline(void* trampoline) {
  const auto* wrapped = static_cast<const Trampoline*>(trampoline);
  if (wrapped->runtime != nullptr) follow_binding(*wrapped->runtime, wrapped->master);
  if (wrapped->counts == nullptr) {
    wrapped->function(wrapped->data);
    return;
  }
  uint64_t begin[OPTILE_GROUP_EVENTS];
  const bool counted = begin_part(*wrapped->counts, begin);
  wrapped->function(wrapped->data);
  if (counted) end_part(*wrapped->counts, begin);
}

void leave_trampoline(const Trampoline& trampoline) {
  if (trampoline.master != nullptr) put_mask_back(trampoline.master);
}

}  // namespace optile::preload
