#include "bindings/preload/probes/tbb/tbb_scope.h"

#include <string.h>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/probes/tbb/tbb_copy.h"
#include "bindings/preload/probes/tbb/tbb_tasks.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/probe_hooks.h"

namespace optile::preload {
namespace {

uint32_t tasks_have_ops = 0;
uint32_t other_work = 0;

bool is_set(const uint32_t& flag) {
  return __atomic_load_n(&flag, __ATOMIC_RELAXED) != 0;
}

// An annotated op around an algorithm does not make its count the one that is steered: it may hold
// other work of oneTBB's, too.
bool says_nothing(const void* /*real*/) {
  return false;
}

bool follows(const TbbTask& task, const void* execute_and_wait) {
  if (!task.may_tune || !regions_are_tuned() || is_set(other_work)) return false;
  const CountKnob knob = tbb_knob();
  if (!knob.usable()) return false;
  choose_runtime_of_library(execute_and_wait, knob);
  return knob_is_steered_by(reinterpret_cast<const void*>(knob.set));
}

// Ours may have been being made just when other work came.
void allow_all() {
  const CountKnob knob = tbb_knob();
  if (knob.usable()) knob.set(0);
}

// The thread waits for a group, and yet is in no task: what it waited for has been left.
void close_left_op(const void* frame) {
  IssuingThread* thread = known_issuing_thread();
  if (thread == nullptr || thread->waits_for == nullptr || inside_tbb_task()) return;
  thread->waits_for = nullptr;
  close_what_was_left(*thread, thread->outermost, frame);
}

// Where a thread issues its first op inside a task, the tasks have ops of their own, which tell
// more; oneTBB's are none from then on.
void note_issuer_in_task(uint32_t /*slot*/) {
  if (!is_set(tasks_have_ops) && inside_tbb_task()) {
    __atomic_store_n(&tasks_have_ops, 1, __ATOMIC_RELAXED);
  }
}

constexpr ProbeHooks kHooks = {.thread_comes = note_issuer_in_task};
OPTILE_REGISTER_PROBE(kHooks);

}  // namespace

TbbScope::TbbScope(const void* task, const void* context, const void* caller, const void* entry) {
  if (!may_begin(caller, entry)) return;
  const TbbTask who = tbb_task(task);
  const bool fixed = !follows(who, entry);
  if (fixed) allow_all();
  begin(who, fixed, context);
}

TbbScope::TbbScope(TbbTask (*what)(const void* caller), const void* context, const void* caller,
                   const void* entry) {
  if (may_begin(caller, entry)) begin(what(caller), true, context);
}

bool TbbScope::may_begin(const void* caller, const void* entry) {
  if (is_set(tasks_have_ops) || is_inside_tbb(caller)) return false;
  close_left_op(this);
  // First, since what follows may ask the linker: tbb_functions.h says why workers should not.
  if (inside_tbb_task()) return false;
  if (!op_.may_begin(caller, says_nothing, entry)) return false;
  return is_followed_tbb(entry) && !inside_tbb_task();
}

void TbbScope::begin(TbbTask who, bool fixed, const void* context) {
  put_into_arena(&who, arena_size());
  // An algorithm is code of the program's own.
  const uint32_t flags = fixed ? OPTILE_OP_FIXED : OPTILE_OP_MAY_HANG;
  op_.begin({who.key, flags, OPTILE_PROBE_TBB, describe_tbb_task, &who});
  // One of the two sees the other: who gives other work, our count; or we, that there is some.
  if (!fixed && __atomic_load_n(&other_work, __ATOMIC_SEQ_CST) != 0) allow_all();
  IssuingThread* thread = known_issuing_thread();
  if (thread == nullptr || thread->depth == 0) return;
  thread->waits_for = context;
  open_ = true;
}

TbbScope::~TbbScope() {
  IssuingThread* thread = open_ ? known_issuing_thread() : nullptr;
  if (thread != nullptr) thread->waits_for = nullptr;
}

void tbb_context_ends(const void* context) {
  IssuingThread* thread = known_issuing_thread();
  if (thread == nullptr || thread->waits_for != context) return;
  thread->waits_for = nullptr;
  close_what_was_left(*thread, thread->outermost, __builtin_frame_address(0));
}

void note_given_tbb_task(const void* task, const void* entry) {
  if (is_set(other_work) || !regions_are_tuned()) return;
  if (!is_followed_tbb(entry) || inside_tbb_task()) return;
  // It gives all but one of its functions before it has that one executed and waits for all.
  if (strcmp(tbb_task(task).name, "parallel_invoke") == 0) return;
  note_other_tbb_work();
}

void note_other_tbb_work() {
  if (is_set(other_work)) return;
  __atomic_store_n(&other_work, 1, __ATOMIC_SEQ_CST);
  allow_all();
}

}  // namespace optile::preload
