#include "bindings/preload/probes/openmp/region_width.h"

#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/probes/openmp/region_rules.h"
#include "bindings/preload/probes/openmp/region_sequence.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

struct RegionWidths {
  bool remembers = false;         // which region follows which, of this thread
  int own = 0;                    // the program's count, as last found; 0 = not known
  int set = 0;                    // ours, in force until the next region ends; 0 = the program's is
  const void* runtime = nullptr;  // whose count `set` is, opaque
  KnownRegion* next = nullptr;    // for whom; null: nobody is expected
  uint64_t next_context = 0;
  uint32_t next_judged = 0;
  KnownRegion* open = nullptr;
};
RegionWidths widths_of_slots[kMostIssuing];

RegionWidths& widths_of(const IssuingThread& thread) {
  return widths_of_slots[thread.slot];
}

RegionSequence sequences[kMostIssuing];  // by slot

RegionSequence& sequence_of(IssuingThread& thread) {
  RegionSequence& sequence = sequences[thread.slot];
  // Slots are used again, and what a thread has not met itself it may not be given a width for.
  RegionWidths& widths = widths_of(thread);
  if (!widths.remembers) sequence.forget();
  widths.remembers = true;
  return sequence;
}

bool is_of(const OpenmpRuntime& runtime, const void* caller) {
  return resolve_cached(caller, kSetNumThreads) == reinterpret_cast<void*>(runtime.set_num_threads);
}

// The count that is found, where ours may be in force; `widths.own` is the program's afterwards.
int find_count(const OpenmpRuntime& runtime, RegionWidths& widths) {
  const int now = runtime.get_max_threads();
  if (widths.set == 0) {
    note_default_width(now, widths.own);
    widths.own = now;
  } else if (now != widths.set) {
    note_program_set_width();
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

// Whether the open region is tuned, or why not, for its op's record.
void put_tuning(PresetWidth& preset, KnownRegion* region) {
  if (region == nullptr) {
    if (regions_are_tuned()) preset.tuning = OPTILE_REGION_UNKNOWN;
    return;
  }
  const uint32_t reasons = reasons_of(*region) | reasons_of_process();
  preset.tuning = reasons == 0 ? uint64_t{OPTILE_REGION_TUNED} : reasons;
  preset.told = &region->told;
}

void put_width(IssuingThread& thread, KnownRegion* region, const void* caller, bool clause) {
  RegionWidths& widths = widths_of(thread);
  PresetWidth& preset = thread.preset;
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
  preset.expected = tuned && next == region && widths.next_context == thread.context;
  if (!preset.expected) take_back(*runtime, widths);
  if (!tuned) return;
  preset.width = widths.set != 0 ? widths.set : widths.own;
  preset.own = widths.own;
  if (preset.expected) preset.judged = widths.next_judged;
}

}  // namespace

void region_begins(IssuingThread& thread, KnownRegion* region, const void* caller, bool clause) {
  widths_of(thread).open = region;
  thread.withdraw = interrupt_regions;
  thread.preset = {};
  put_width(thread, region, caller, clause);
  put_tuning(thread.preset, region);
}

void region_ended(IssuingThread& thread) {
  RegionWidths& widths = widths_of(thread);
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
  thread.withdraw = interrupt_regions;
}

bool is_in_known_region(const IssuingThread& thread) {
  return widths_of(thread).open != nullptr;
}

void interrupt_regions(IssuingThread& thread) {
  thread.withdraw = nullptr;
  RegionWidths& widths = widths_of(thread);
  widths.open = nullptr;
  if (widths.next == nullptr && widths.set == 0) return;
  if (widths.next != nullptr) sequence_of(thread).met(widths.next_context, nullptr);
  widths.next = nullptr;
  leave_in_force(widths);
}

void forget_region_widths(uint32_t slot) {
  widths_of_slots[slot] = {};
}

}  // namespace optile::preload
