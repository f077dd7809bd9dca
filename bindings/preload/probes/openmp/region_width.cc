#include "bindings/preload/probes/openmp/region_width.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/core/op_registry.h"
#include "bindings/preload/core/user_word.h"
#include "bindings/preload/daemon_link/attachment.h"
#include "bindings/preload/probes/openmp/region_rules.h"
#include "bindings/preload/probes/openmp/region_sequence.h"

namespace optile::preload {
namespace {

RegionSequence sequences[kMostIssuing];  // by slot

RegionSequence& sequence_of(IssuingThread& thread) {
  RegionSequence& sequence = sequences[thread.slot];
  // Slots are used again, and what a thread has not met itself it may not be given a width for.
  if (!thread.region_widths.remembers) sequence.forget();
  thread.region_widths.remembers = true;
  return sequence;
}

bool is_of(const OpenmpRuntime& runtime, const void* caller) {
  return resolve_cached(caller, kSetNumThreads) == reinterpret_cast<void*>(runtime.set_num_threads);
}

// The count that is found, where ours may be in force; `widths.own` is the program's afterwards.
int find_count(const OpenmpRuntime& runtime, RegionWidths& widths) {
  const int now = runtime.get_max_threads();
  if (widths.set == 0) {
    note_own_width(now, widths.own);
    widths.own = now;
  } else if (now != widths.set) {
    note_word_of_program();
    widths.set = 0;
    widths.own = now;
  }
  return now;
}

void take_back(const OpenmpRuntime& runtime, RegionWidths& widths) {
  if (widths.set != 0) runtime.set_num_threads(widths.own);
  widths.set = 0;
}

// What is in force is not wanted any more, or other widths are steered since: a framework came
// whose runtime is another one, or another manager of threads.
void leave_in_force(RegionWidths& widths) {
  if (widths.set == 0) return;
  const auto& runtime = *static_cast<const OpenmpRuntime*>(widths.runtime);
  find_count(runtime, widths);
  take_back(runtime, widths);
}

bool is_stale(const RegionWidths& widths) {
  return widths.set != 0 && (!regions_are_tuned() || widths.runtime != steered_runtime());
}

uint32_t reasons_of(const KnownRegion& region) {
  const uint32_t clause =
      __atomic_load_n(&region.clause, __ATOMIC_RELAXED) != 0 ? uint32_t{OPTILE_REGION_CLAUSE} : 0U;
  return __atomic_load_n(&region.reasons, __ATOMIC_RELAXED) | clause;
}

// The runtime is chosen by the first region that may be tuned; a region of another one stays alone.
const OpenmpRuntime* runtime_for(KnownRegion& region, const void* caller) {
  if (steered_runtime() == nullptr) choose_runtime_of_speaker(caller);
  const OpenmpRuntime* runtime = steered_runtime();
  if (runtime != nullptr && !is_of(*runtime, caller)) {
    __atomic_fetch_or(&region.reasons, uint32_t{OPTILE_REGION_RUNTIME}, __ATOMIC_RELAXED);
  }
  return runtime;
}

// What `next` is to run with; the program's own count where nothing else is known to be allowed.
int wanted_for(IssuingThread& thread, const KnownRegion& next, int own, uint32_t* judged) {
  if ((reasons_of(next) | reasons_of_process()) != 0) return own;
  const auto width =
      static_cast<int>(width_of_next(thread, optile_load64(&next.key), thread.context, judged));
  if (width <= 0 || width >= own) return own;
  if (reasons_looked_for() == 0) return width;
  *judged = 0;
  return own;
}

}  // namespace

void region_begins(IssuingThread& thread, KnownRegion* region, const void* caller, bool clause) {
  RegionWidths& widths = thread.region_widths;
  widths.open = region;
  widths.width = 0;
  widths.expected = false;
  widths.open_judged = 0;
  if (is_stale(widths)) leave_in_force(widths);
  if (!regions_are_tuned()) return;
  sequence_of(thread).met(thread.context, region);
  KnownRegion* next = widths.next;
  widths.next = nullptr;
  if (region != nullptr && clause) __atomic_store_n(&region->clause, 1, __ATOMIC_RELAXED);
  const bool may = region != nullptr && (reasons_of(*region) | reasons_of_process()) == 0;
  const OpenmpRuntime* runtime = may ? runtime_for(*region, caller) : steered_runtime();
  if (runtime == nullptr || (!may && widths.set == 0)) return;
  find_count(*runtime, widths);
  // What was just found may have been the program's word.
  const bool tuned = may && (reasons_of(*region) | reasons_of_process()) == 0;
  widths.expected = tuned && next == region && widths.next_context == thread.context;
  if (!widths.expected) take_back(*runtime, widths);
  if (!tuned) return;
  widths.width = widths.set != 0 ? widths.set : widths.own;
  if (widths.expected) widths.open_judged = widths.next_judged;
}

void region_ended(IssuingThread& thread) {
  RegionWidths& widths = thread.region_widths;
  const OpenmpRuntime* runtime = steered_runtime();
  widths.open = nullptr;
  if (is_forked_child()) return;
  if (is_stale(widths)) leave_in_force(widths);
  if (!regions_are_tuned() || runtime == nullptr) return;
  KnownRegion* next = sequence_of(thread).expected(thread.context);
  if (next == nullptr && widths.set == 0) return;
  const int now = find_count(*runtime, widths);
  uint32_t judged = 0;
  const int wanted = next == nullptr ? widths.own : wanted_for(thread, *next, widths.own, &judged);
  if (wanted != now) runtime->set_num_threads(wanted);
  widths.set = wanted == widths.own ? 0 : wanted;
  widths.runtime = runtime;
  widths.next = next;
  widths.next_context = thread.context;
  widths.next_judged = judged;
}

void tell_tuning(const IssuingThread& thread, uint32_t op_id) {
  if (thread.region_widths.open == nullptr) {
    if (regions_are_tuned()) note_tuning(op_id, OPTILE_REGION_UNKNOWN);
    return;
  }
  KnownRegion& region = *thread.region_widths.open;
  const uint32_t reasons = reasons_of(region) | reasons_of_process();
  const uint64_t tuning = reasons == 0 ? uint64_t{OPTILE_REGION_TUNED} : reasons;
  if (optile_load64(&region.told) == tuning) return;
  optile_store64(&region.told, tuning);
  note_tuning(op_id, tuning);
}

void interrupt_regions(IssuingThread& thread) {
  RegionWidths& widths = thread.region_widths;
  widths.open = nullptr;
  if (widths.next == nullptr && widths.set == 0) return;
  if (widths.next != nullptr) sequence_of(thread).met(widths.next_context, nullptr);
  widths.next = nullptr;
  leave_in_force(widths);
}

}  // namespace optile::preload
