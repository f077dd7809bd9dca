#include "bindings/preload/actuators/wait_policy.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

constexpr uint64_t kLongestCap = 1000000;  // a word beyond it is no word of a daemon

struct BlockTime {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;

  bool known() const { return get != nullptr && set != nullptr; }
};

BlockTime block_time_of(const void* caller) {
  if (caller != nullptr) {
    return {reinterpret_cast<int (*)()>(resolve_cached(caller, "kmp_get_blocktime")),
            reinterpret_cast<void (*)(int)>(resolve_cached(caller, "kmp_set_blocktime"))};
  }
  const OpenmpRuntime* steered = steered_runtime();
  if (steered == nullptr) return {};
  return {steered->get_blocktime, steered->set_blocktime};
}

// Never longer than the program has it, and what somebody set meanwhile is its own from then on.
void set_cap(SteeredThread& thread, const BlockTime& block_time, uint64_t cap) {
  const int now = block_time.get();
  const bool ours = thread.wait_cap != 0 && now == thread.set_blocktime;
  const int own = ours ? thread.own_blocktime : now;
  const int most = cap == 0 ? own : static_cast<int>(cap - 1);
  thread.own_blocktime = own;
  thread.set_blocktime = most < own ? most : own;
  if (thread.set_blocktime != now) block_time.set(thread.set_blocktime);
}

}  // namespace

void follow_wait_cap(SteeredThread& thread, const Attachment& attached, const void* caller) {
  // Where somebody else manages threads by now, what the program had is given back.
  const uint64_t cap = may_steer() ? optile_load64(&attached.plan->wait_cap) : 0;
  if (cap == thread.wait_cap || cap > kLongestCap) return;
  // Asked again at the next op: which runtime it will be is not known yet.
  if (caller == nullptr && steered_runtime() == nullptr) return;
  if (!environment().steer_wait) return;
  const BlockTime block_time = block_time_of(caller);
  if (block_time.known()) {
    set_cap(thread, block_time, cap);
    __atomic_fetch_add(&attached.client->header.wait_changes, 1, __ATOMIC_RELAXED);
  }
  thread.wait_cap = cap;
}

}  // namespace optile::preload
