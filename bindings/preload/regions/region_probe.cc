#include "bindings/preload/regions/region_probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/annotations.h"
#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "bindings/preload/forked_child.h"
#include "bindings/preload/framework_watch.h"
#include "bindings/preload/op_boundary.h"
#include "bindings/preload/op_counters.h"
#include "bindings/preload/rest.h"
#include "bindings/preload/shim_clock.h"
#include "bindings/preload/wait_policy.h"
#include "bindings/preload/width_actuator.h"

namespace optile::preload {
namespace {

constexpr uint32_t kRegionsBetweenWidths = 64;
constexpr uint32_t kKnownFunctions = 1024;  // beyond that a region's key is worked out every time

struct KnownFunction {
  const void* function;
  uint64_t key;
};
KnownFunction known[kKnownFunctions];

// File name and offset: the same in every run, whatever the loader's addresses.
uint64_t work_out_key(const void* function) {
  Dl_info where = {};
  if (dladdr(function, &where) == 0 || where.dli_fname == nullptr) return 1;
  const char* slash = strrchr(where.dli_fname, '/');
  const char* name = slash == nullptr ? where.dli_fname : slash + 1;
  const auto offset =
      reinterpret_cast<uintptr_t>(function) - reinterpret_cast<uintptr_t>(where.dli_fbase);
  const uint64_t key = base::hash_word(offset, base::hash_bytes(name, strlen(name)));
  return key == 0 ? 1 : key;
}

uint64_t key_of(const void* function) {
  const uint64_t mixed = reinterpret_cast<uintptr_t>(function) * UINT64_C(0x9e3779b97f4a7c15);
  KnownFunction& slot = known[(mixed >> 32) % kKnownFunctions];
  const void* there = __atomic_load_n(&slot.function, __ATOMIC_ACQUIRE);
  if (there == function) {
    const uint64_t key = optile_load64(&slot.key);
    if (key != 0) return key;
  }
  const uint64_t key = work_out_key(function);
  if (there == nullptr && __atomic_compare_exchange_n(&slot.function, &there, function, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    optile_store64(&slot.key, key);
  }
  return key;
}

void describe_region(const void* source, char name[OPTILE_NAME_BYTES],
                     char shape[OPTILE_SHAPE_BYTES]) {
  Dl_info where = {};
  shape[0] = '\0';
  if (dladdr(source, &where) == 0 || where.dli_fname == nullptr) {
    snprintf(name, OPTILE_NAME_BYTES, "region");
    return;
  }
  const char* slash = strrchr(where.dli_fname, '/');
  const auto offset =
      reinterpret_cast<uintptr_t>(source) - reinterpret_cast<uintptr_t>(where.dli_fbase);
  snprintf(name, OPTILE_NAME_BYTES, "region %.60s+0x%lx",
           slash == nullptr ? where.dli_fname : slash + 1, static_cast<unsigned long>(offset));
  if (where.dli_sname != nullptr) snprintf(shape, OPTILE_SHAPE_BYTES, "%s", where.dli_sname);
}

// The caller's own copy of the runtime, for the trampoline's thread numbers. Two copies at most are
// told apart; a third is not bound.
const OpenmpRuntime* runtime_of(const void* caller) {
  const OpenmpRuntime* steered = steered_runtime();
  if (steered == nullptr) return nullptr;
  auto* const mine = reinterpret_cast<int (*)()>(resolve_cached(caller, "omp_get_thread_num"));
  return mine == steered->get_thread_num ? steered : nullptr;
}

// A team inside a team: its master is a worker of the outer one.
bool is_worker(const void* caller) {
  auto* const in_parallel = reinterpret_cast<int (*)()>(resolve_cached(caller, "omp_in_parallel"));
  return in_parallel != nullptr && in_parallel() != 0;
}

void follow_wait(IssuingThread& thread, const void* caller) {
  const Attachment* attached = attachment();
  if (attached != nullptr) follow_wait_cap(thread, *attached, caller);
}

// How wide the program's own teams are: nothing here changes that, so whoever grants it cores has
// to know.
void publish_region_width(const void* caller) {
  const Attachment* attached = attachment();
  auto* const most = reinterpret_cast<int (*)()>(resolve_cached(caller, "omp_get_max_threads"));
  if (attached == nullptr || most == nullptr) return;
  const int width = most();
  if (width > 0) {
    optile_store32(&attached->client->header.region_width, static_cast<uint32_t>(width));
  }
}

}  // namespace

RegionScope::RegionScope(const void* caller, void (*body)(void*), void* data, bool reductions) {
  trampoline_.function = body;
  trampoline_.data = data;
  if (environment().off || is_forked_child()) return;
  note_team(caller);
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) close_what_was_left(*thread, &open_, this);
  // Inside an op some probe is at work already, and nobody rests.
  if (thread == nullptr || thread->depth == 0) {
    notice_framework(caller);
    end_overdue_rest();
    // While a framework rests, its ops are not seen.
    if (thread != nullptr && framework_probe_active()) follow_wait(*thread, nullptr);
  }
  if (thread != nullptr && thread->depth > 0) {
    if (thread->awaits_runtime) region_in_op(*thread, caller);
    if (thread->region_depth++ == 0 && thread->times_regions) begin_ = ticks();
    thread_ = thread;
  } else if (!framework_probe_active() && !is_worker(caller)) {
    observe_alone(body, caller);
    thread = known_issuing_thread();
  }
  if (thread != nullptr) wrap(*thread, caller, reductions);
}

// Teams inside teams, and those of threads that issue no ops, are left where they are.
void RegionScope::wrap(IssuingThread& thread, const void* caller, bool reductions) {
  const bool binds = trampoline_needed();
  const bool counts = counters_in_use();
  if ((!binds && !counts) || inside_region()) return;
  if (binds) trampoline_.runtime = runtime_of(caller);
  if (trampoline_.runtime != nullptr && trampoline_.runtime->get_thread_num == nullptr) {
    trampoline_.runtime = nullptr;
  }
  if (counts && thread.depth > 0) trampoline_.counts = &thread.counts;
  wrapped_ = trampoline_.runtime != nullptr || trampoline_.counts != nullptr;
  if (wrapped_ && reductions) {
    memcpy(&trampoline_.first_word, trampoline_.data, sizeof trampoline_.first_word);
  }
}

void RegionScope::observe_alone(void (*body)(void*), const void* caller) {
  const auto* address = reinterpret_cast<const void*>(body);
  const optile_op_identity identity = {key_of(address), OPTILE_OP_REGION, OPTILE_PROBE_REGION,
                                       describe_region, address};
  alone_ = true;
  op_begin(&identity, &open_);
  IssuingThread* thread = known_issuing_thread();
  if (thread == nullptr) return;
  if (thread->depth > 0) thread->outermost = &open_;
  follow_wait(*thread, caller);
  if (thread->regions_alone++ % kRegionsBetweenWidths == 0) publish_region_width(caller);
}

RegionScope::~RegionScope() {
  if (wrapped_) leave_trampoline();
  if (alone_) {
    IssuingThread* thread = known_issuing_thread();
    if (thread != nullptr && thread->outermost == &open_) thread->outermost = nullptr;
    op_end(&open_);
  }
  if (thread_ == nullptr || thread_->region_depth == 0) return;
  if (--thread_->region_depth == 0) {
    if (begin_ != 0) thread_->region_ticks += ticks() - begin_;
    ++thread_->regions;
  }
}

}  // namespace optile::preload
