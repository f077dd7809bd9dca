#include "bindings/preload/probes/openmp/region_probe.h"

#include <stdio.h>
#include <string.h>

#include "bindings/preload/actuators/wait_policy.h"
#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/annotations.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/core/op_counters.h"
#include "bindings/preload/core/sampling_pause.h"
#include "bindings/preload/probes/openmp/compiled_kernel.h"
#include "bindings/preload/probes/openmp/forked_child.h"
#include "bindings/preload/probes/openmp/known_regions.h"
#include "bindings/preload/probes/openmp/region_rules.h"
#include "bindings/preload/probes/openmp/region_width.h"
#include "bindings/preload/runtimes/framework_watch.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/shim_clock.h"

namespace optile::preload {
namespace {

constexpr uint32_t kRegionsBetweenWidths = 64;

void describe_region(const void* source, char name[OPTILE_NAME_BYTES],
                     char shape[OPTILE_SHAPE_BYTES]) {
  const ObjectPlace where = place_of(source);
  shape[0] = '\0';
  if (where.path[0] == '\0') {
    snprintf(name, OPTILE_NAME_BYTES, "region");
    return;
  }
  snprintf(name, OPTILE_NAME_BYTES, "region %.60s+0x%lx", file_name(where.path),
           static_cast<unsigned long>(where.offset));
}

// The caller's own copy of the runtime, for the trampoline's thread numbers. Two copies at most are
// told apart; a third is not bound.
const OpenmpRuntime* runtime_of(const void* caller) {
  const OpenmpRuntime* steered = steered_runtime();
  if (steered == nullptr) return nullptr;
  auto* const mine = reinterpret_cast<int (*)()>(resolve_cached(caller, kGetThreadNum));
  return mine == steered->get_thread_num ? steered : nullptr;
}

// A team inside a team: its master is a worker of the outer one.
bool is_worker(const void* caller) {
  auto* const in_parallel = reinterpret_cast<int (*)()>(resolve_cached(caller, kInParallel));
  return in_parallel != nullptr && in_parallel() != 0;
}

// Nor is it time to look for somebody, and nothing needs to be known of regions before that.
bool nobody_listens() {
  return attachment() == nullptr && !regions_are_tuned() && !attaching_is_due(ticks());
}

void follow_wait(IssuingThread& thread, const void* caller) {
  const Attachment* attached = attachment();
  if (attached != nullptr) follow_wait_cap(thread, *attached, caller);
}

// How wide the program's own teams are by themselves: whoever grants it cores has to know.
void publish_region_width(const IssuingThread& thread, const void* caller) {
  const Attachment* attached = attachment();
  auto* const most = reinterpret_cast<int (*)()>(resolve_cached(caller, kGetMaxThreads));
  if (attached == nullptr || most == nullptr) return;
  const bool tuned = thread.preset.width != 0;
  const int width = tuned ? thread.preset.own : most();
  if (width > 0) {
    optile_store32(&attached->client->header.region_width, static_cast<uint32_t>(width));
  }
}

}  // namespace

RegionScope::RegionScope(void (*body)(void*), void* data, unsigned threads, bool reductions) {
  trampoline_.function = body;
  trampoline_.data = data;
  if (environment().off || is_forked_child()) return;
  const auto* function = reinterpret_cast<const void*>(body);
  enter(function, threads);
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) {
    wrap(*thread, function, reductions);
  } else if (teams_were_bound()) {
    masks_may_be_inherited();  // a worker's own team
  }
}

RegionScope::RegionScope(const void* function, unsigned threads) {
  if (environment().off || is_forked_child()) return;
  enter(function, threads);
}

void RegionScope::enter(const void* caller, unsigned threads) {
  const bool clause = threads != 0;
  // A region of one thread, also by an `if` clause, makes no team that a child would wait for.
  if (threads != 1) note_team(caller);
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) close_what_was_left(*thread, &open_, this);
  // Inside an op some probe is at work already, and sampling is not paused.
  if (thread == nullptr || thread->depth == 0) {
    notice_framework(caller);
    end_overdue_sampling_pause();
    // While a framework's sampling is paused, its ops are not seen.
    if (thread != nullptr && framework_probe_active()) follow_wait(*thread, nullptr);
  }
  if (thread != nullptr && thread->depth > 0) {
    if (thread->awaits_runtime) region_in_op(*thread, caller);
    if (thread->region_depth++ == 0 && thread->times_regions) begin_ = ticks();
    thread_ = thread;
    if (regions_are_tuned() && is_in_known_region(*thread)) note_nested_region();
  } else if (framework_probe_active()) {
    if (thread != nullptr) interrupt_regions(*thread);
    if (is_compiled_kernel(caller) && !is_worker(caller)) observe_kernel(caller, clause);
  } else if (nobody_listens()) {
    return;
  } else if (!is_worker(caller)) {
    observe_alone(caller, clause);
  } else if (regions_are_tuned()) {
    note_nested_region();
  }
}

void unfollowed_team_begins(const void* function, bool one_of_several) {
  if (environment().off || is_forked_child()) return;
  note_team(function);
  IssuingThread* thread = known_issuing_thread();
  const bool in_region = thread != nullptr && is_in_known_region(*thread);
  if (regions_are_tuned() && (one_of_several || in_region || is_worker(function))) {
    note_nested_region();
  }
  // Inside an op the count is the op's.
  if (thread != nullptr && thread->depth == 0) interrupt_regions(*thread);
}

// Teams inside teams, and those of threads that issue no ops, are left where they are.
void RegionScope::wrap(IssuingThread& thread, const void* caller, bool reductions) {
  const bool binds = teams_were_bound();
  const bool counts = counters_in_use();
  if (!binds && !counts) return;
  const bool inside = inside_region();
  if (binds && (inside || thread.master.is_ours)) masks_may_be_inherited();
  if (inside) return;
  if (binds) trampoline_.runtime = runtime_of(caller);
  if (trampoline_.runtime != nullptr && !trampoline_.runtime->knows_teams()) {
    trampoline_.runtime = nullptr;
  }
  if (trampoline_.runtime != nullptr) trampoline_.master = &thread.master;
  if (counts && thread.depth > 0) trampoline_.counts = &thread.counts;
  wrapped_ = trampoline_.runtime != nullptr || trampoline_.counts != nullptr;
  if (wrapped_ && reductions) {
    memcpy(&trampoline_.first_word, trampoline_.data, sizeof trampoline_.first_word);
  }
}

void RegionScope::observe_alone(const void* function, bool clause) {
  // Most programs that nobody listens to yet find nobody now either.
  maintain_attachment(ticks());
  if (nobody_listens()) return;
  KnownRegion* region = known_region(function);
  const uint64_t key = region == nullptr ? region_key(function) : optile_load64(&region->key);
  const optile_op_identity identity = {key, OPTILE_OP_REGION, OPTILE_PROBE_REGION, describe_region,
                                       function};
  alone_ = true;
  IssuingThread* thread = regions_are_tuned() ? issuing_thread() : known_issuing_thread();
  if (thread != nullptr) region_begins(*thread, region, function, clause);
  open(identity);
  thread = known_issuing_thread();
  if (thread == nullptr) return;
  follow_wait(*thread, function);
  if (thread->regions_alone++ % kRegionsBetweenWidths == 0) {
    publish_region_width(*thread, function);
  }
}

// One that names its number of threads keeps it, and so does one of another runtime than the
// framework's.
void RegionScope::observe_kernel(const void* function, bool clause) {
  if (is_sampling_paused() || at_depth_0() == 0) return;
  const bool follows = !clause && openmp_is_steered_by(resolve_cached(function, kSetNumThreads));
  const uint32_t flags = follows ? 0U : OPTILE_OP_FIXED;
  open({kernel_key(function), flags, OPTILE_PROBE_REGION, describe_kernel, function});
}

void RegionScope::open(const optile_op_identity& identity) {
  opened_ = true;
  op_begin(&identity, &open_);
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && thread->depth > 0) thread->outermost = &open_;
}

RegionScope::~RegionScope() {
  if (wrapped_) leave_trampoline(trampoline_);
  if (opened_) {
    IssuingThread* thread = known_issuing_thread();
    if (thread != nullptr && thread->outermost == &open_) thread->outermost = nullptr;
    op_end(&open_);
    if (thread != nullptr && alone_) region_ended(*thread);
  }
  if (thread_ == nullptr || thread_->region_depth == 0) return;
  if (--thread_->region_depth == 0) {
    if (begin_ != 0) thread_->region_ticks += ticks() - begin_;
    ++thread_->regions;
  }
}

}  // namespace optile::preload
