#include "bindings/preload/actuators/width_actuator.h"

#include <string.h>

#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/runtimes/team_data.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

// Written before it is chosen, never after: an op that is open keeps to the one it began with.
struct Steered {
  OpenmpRuntime runtime;
  BlasPool pool;
  int pool_own = 0;  // the pool's own count, before we touched it
  CountKnob knob;    // where it is usable, runtime and pool are not
};

// A BLAS beside what is chosen: its products are steered by its own runtime or pool.
struct OtherCopy {
  const void* setter = nullptr;  // of the count that its products take; what it is known by
  uint32_t ready = 0;            // `steered` was written
  uint32_t follows = 0;          // its products have taken widths
  int own_seen = 0;              // the program's count, as its latest product found it
  Steered steered;
};
constexpr int kMostOtherCopies = 8;
OtherCopy other_copies[kMostOtherCopies];

// In rising rank: each stands until one that knows better comes.
Steered by_library;
Steered by_speaker;  // what a region, or an annotated op, is bound to
Steered by_framework;
int library_asked = 0;  // 1 = its choice was made, or is being made
int speaker_asked = 0;
int framework_asked = 0;
const Steered* chosen = nullptr;
const Steered* published = nullptr;
// How many other copies follow, and how many of them are told.
uint32_t following = 0;
uint32_t reported_following = 0;
bool pool_shared = false;
// While one is narrowed: whose, to what, and the count to give back.
const Steered* pool_narrowed = nullptr;
int pool_narrowed_from = 0;
int pool_narrowed_to = 0;

const Steered* in_use() {
  return __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
}

void fill(Steered* steered, const void* caller) {
  resolve_runtime(caller, &steered->runtime);
  resolve_blas(caller, &steered->pool);
  if (steered->pool.steerable()) steered->pool_own = steered->pool.get_num_threads();
}

bool pool_follows(const Steered& steered) {
  return steered.pool.steerable() && environment().steer_blas && steered.pool_own > 1;
}

// Behind the path itself: nobody who knows of one path only reads on.
void write_blas_paths(const Steered& steered, char* to, size_t bytes) {
  memset(to, 0, bytes);
  size_t used = strnlen(steered.pool.path, bytes - 1);
  memcpy(to, steered.pool.path, used++);
  for (const OtherCopy& copy : other_copies) {
    if (__atomic_load_n(&copy.follows, __ATOMIC_ACQUIRE) == 0) continue;
    const char* name = file_name(copy.steered.pool.path);
    const size_t length = strlen(name);
    if (length == 0 || used + length + 1 > bytes) continue;
    memcpy(to + used, name, length + 1);
    used += length + 1;
  }
}

void note_following(OtherCopy& copy) {
  if (__atomic_load_n(&copy.follows, __ATOMIC_RELAXED) != 0) return;
  if (__atomic_exchange_n(&copy.follows, 1, __ATOMIC_ACQ_REL) == 0) {
    __atomic_fetch_add(&following, 1, __ATOMIC_RELEASE);
  }
}

void publish_choice(const Attachment& attached, const Steered& steered) {
  optile_client_header& header = attached.client->header;
  const bool told = __atomic_load_n(&published, __ATOMIC_RELAXED) == &steered;
  const uint32_t beside = __atomic_load_n(&following, __ATOMIC_ACQUIRE);
  const bool all = __atomic_load_n(&reported_following, __ATOMIC_RELAXED) == beside;
  if (told && all && optile_load32(&header.blas_ready) != 0) return;
  __atomic_store_n(&published, &steered, __ATOMIC_RELAXED);
  __atomic_store_n(&reported_following, beside, __ATOMIC_RELAXED);
  optile_store32(&header.blas_ready, 0);
  optile_store32(&header.runtime, OPTILE_RUNTIME_UNKNOWN);
  memcpy(header.runtime_path, steered.runtime.path, sizeof header.runtime_path);
  write_blas_paths(steered, header.blas_path, sizeof header.blas_path);
  optile_store32(&header.blas_beside, beside);
  optile_store32(&header.blas_threads, static_cast<uint32_t>(steered.pool_own));
  optile_store32(&header.runtime, steered.runtime.kind);
  optile_store32(&header.blas_ready, 1);
}

void narrow_pool(const Steered& steered, int now, int width) {
  __atomic_store_n(&pool_narrowed_from, now, __ATOMIC_RELAXED);
  __atomic_store_n(&pool_narrowed_to, width, __ATOMIC_RELAXED);
  __atomic_store_n(&pool_narrowed, &steered, __ATOMIC_RELEASE);
  steered.pool.set_num_threads(width);
}

void widen_pool(const Steered& steered, int narrow, int own) {
  // Whoever set another count meanwhile meant it. A forked child has no pool: asking for a count
  // would start one.
  if (!is_forked_child() && steered.pool.get_num_threads() == narrow) {
    steered.pool.set_num_threads(own);
  }
  __atomic_store_n(&pool_narrowed, static_cast<const Steered*>(nullptr), __ATOMIC_RELAXED);
}

// For good, all of them.
void leave_pools() {
  if (__atomic_exchange_n(&pool_shared, true, __ATOMIC_RELAXED)) return;
  // The other thread may be inside an op right now, with a pool narrowed.
  const Steered* narrowed = __atomic_load_n(&pool_narrowed, __ATOMIC_ACQUIRE);
  if (narrowed != nullptr) {
    widen_pool(*narrowed, __atomic_load_n(&pool_narrowed_to, __ATOMIC_RELAXED),
               __atomic_load_n(&pool_narrowed_from, __ATOMIC_RELAXED));
  }
  add_fallback(OPTILE_FALLBACK_BLAS_SHARED);
}

void apply_pool(SteeredThread& thread, const Steered& steered, int width) {
  thread.blas_own = 0;
  if (!pool_follows(steered)) return;
  if (several_threads_issue()) {
    leave_pools();
    return;
  }
  const int now = steered.pool.get_num_threads();
  const int wanted = width < now ? width : now;
  if (wanted == now || wanted < 1) return;
  narrow_pool(steered, now, wanted);
  thread.blas_own = now;
  thread.blas_set = wanted;
}

// While one thread issues ops there is nobody to share with.
int share_cores(SteeredThread& thread, int width, uint32_t cores, uint64_t now) {
  thread.narrowed = false;
  if (!several_threads_issue()) return width;
  const auto wide = static_cast<uint32_t>(width > 0 ? width : 0);
  const auto given = static_cast<int>(enter_op(thread.slot, &thread.part, wide, cores, now));
  thread.narrowed = given < width;
  return given;
}

int bounded(const WantedWidth& wanted, int own) {
  const auto at_most = [](uint32_t most, int width) {
    return most != 0 && static_cast<int>(most) < width ? static_cast<int>(most) : width;
  };
  return at_most(wanted.width, at_most(wanted.cap, own));
}

// What is told of the program is that of what is chosen.
void publish_width_of(const Steered& steered, int own) {
  if (&steered == in_use()) publish_default_width(own);
}

// OpenBLAS with threads of its own and no OpenMP beside it: its count is the op's width. It belongs
// to the process, so with several issuing threads it stays as it is.
void apply_pool_alone(SteeredThread& thread, const Steered& steered, const WantedWidth& wanted,
                      uint64_t now) {
  const int own = steered.pool.get_num_threads();
  if (thread.default_width != 0) note_default_width(own, thread.default_width);
  thread.default_width = own;
  thread.effective_width = own;
  publish_width_of(steered, own);
  const int narrow = bounded(wanted, own);
  if (narrow < own) apply_pool(thread, steered, narrow);
  if (several_threads_issue()) share_cores(thread, 0, 0, now);
  if (thread.blas_own != 0) thread.effective_width = thread.blas_set;
}

bool knob_follows(const CountKnob& knob) {
  return knob.usable() && !(knob.of_process && several_threads_issue());
}

// No op has a width of its own any more; the cores that the process may use bound it all the same.
void cap_process(SteeredThread& thread, const CountKnob& knob, uint32_t cap) {
  const int own = knob.get();
  const bool binds = cap != 0 && static_cast<int>(cap) < own;
  knob.set(binds ? static_cast<int>(cap) : 0);
  if (!binds) return;
  thread.default_width = own;
  thread.effective_width = static_cast<int>(cap);
}

// The library's own count.
void apply_knob(SteeredThread& thread, const CountKnob& knob, const WantedWidth& wanted,
                uint64_t now) {
  if (!knob_follows(knob)) {
    leave_width(thread, now);
    cap_process(thread, knob, wanted.cap);
    return;
  }
  const int own = knob.get();
  if (thread.default_width != 0) note_default_width(own, thread.default_width);
  const int width = share_cores(thread, bounded(wanted, own), wanted.cores, now);
  const bool narrow = width < own && width > 0;
  thread.default_width = own;
  thread.effective_width = width;
  publish_default_width(own);
  if (knob.of_process) {
    knob.set(narrow ? width : 0);
  } else if (narrow) {
    thread.knob_own = knob.set(width);
    thread.knob_set = width;
  }
}

void restore_knob(SteeredThread& thread, const CountKnob& knob) {
  const int there = knob.set(thread.knob_own);
  // Another count was set inside the op by the program, and stays.
  if (there != thread.knob_set) knob.set(there);
  thread.knob_set = 0;
}

void apply_runtime(SteeredThread& thread, const Steered& steered, const WantedWidth& wanted,
                   uint64_t now) {
  const int count = steered.runtime.get_max_threads();
  const int own = within_limit(count);
  note_default_width(own, thread.default_width);
  // The count that was just found may be a new word of the user.
  const WantedWidth obeyed = is_fixed_by_user() ? WantedWidth{} : wanted;
  const int shared = share_cores(thread, bounded(obeyed, own), obeyed.cores, now);
  const int effective = width_that_keeps_team(steered.runtime.kind, shared, own);
  if (effective == own) thread.narrowed = false;
  thread.default_width = own;
  thread.own_count = count;
  thread.effective_width = effective;
  publish_width_of(steered, own);
  if (effective == own) return;
  steered.runtime.set_num_threads(effective);
  thread.actuated = true;
  apply_pool(thread, steered, effective);
}

void apply_to(SteeredThread& thread, const Steered* steered, const WantedWidth& wanted,
              uint64_t now) {
  thread.steered = steered;
  if (steered != nullptr && steered->knob.usable()) {
    apply_knob(thread, steered->knob, wanted, now);
  } else if (steered != nullptr && steered->runtime.usable()) {
    apply_runtime(thread, *steered, wanted, now);
  } else if (steered != nullptr && pool_follows(*steered)) {
    apply_pool_alone(thread, *steered, wanted, now);
  } else {
    thread.effective_width = 0;
    share_cores(thread, 0, 0, now);
  }
}

// Null where there are more copies than can be kept, or none that can be steered.
OtherCopy* known_copy(const void* inside, const void* setter) {
  for (OtherCopy& copy : other_copies) {
    const void* there = __atomic_load_n(&copy.setter, __ATOMIC_ACQUIRE);
    if (there == nullptr && __atomic_compare_exchange_n(&copy.setter, &there, setter, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      fill(&copy.steered, inside);
      __atomic_store_n(&copy.ready, 1, __ATOMIC_RELEASE);
      there = setter;
    }
    if (there == setter) return __atomic_load_n(&copy.ready, __ATOMIC_ACQUIRE) ? &copy : nullptr;
  }
  return nullptr;
}

template <typename Function>
bool is_of(Function* function, const void* setter) {
  return reinterpret_cast<const void*>(function) == setter;
}

// What a library has of ours beyond the end of an op, once something else is steered.
void release_knob() {
  if (by_library.knob.of_process) by_library.knob.set(0);
}

}  // namespace

void choose_steered_runtime(const void* caller) {
  if (__atomic_exchange_n(&framework_asked, 1, __ATOMIC_ACQ_REL) != 0) return;
  fill(&by_framework, caller);
  if (!by_framework.runtime.usable()) add_fallback(OPTILE_FALLBACK_NO_RUNTIME);
  __atomic_store_n(&chosen, &by_framework, __ATOMIC_RELEASE);
  release_knob();
}

void choose_knob_of_framework(const void* inside, const CountKnob& knob) {
  if (__atomic_load_n(&framework_asked, __ATOMIC_RELAXED) != 0) return;  // asked at every op
  if (__atomic_exchange_n(&framework_asked, 1, __ATOMIC_ACQ_REL) != 0) return;
  by_framework.knob = knob;
  copy_real_path(object_of(inside), by_framework.pool.path, sizeof by_framework.pool.path);
  __atomic_store_n(&chosen, &by_framework, __ATOMIC_RELEASE);
  release_knob();
}

void choose_runtime_of_speaker(const void* caller) {
  const Steered* now = in_use();
  if (now == &by_framework || __atomic_exchange_n(&speaker_asked, 1, __ATOMIC_ACQ_REL) != 0) return;
  fill(&by_speaker, caller);
  if (!by_speaker.runtime.usable()) {
    add_fallback(OPTILE_FALLBACK_NO_RUNTIME);
    return;
  }
  while ((now == nullptr || now == &by_library) &&
         !__atomic_compare_exchange_n(&chosen, &now, &by_speaker, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
  if (in_use() == &by_speaker) release_knob();
}

void choose_runtime_of_library(const void* inside, const CountKnob& knob) {
  if (in_use() != nullptr || __atomic_exchange_n(&library_asked, 1, __ATOMIC_ACQ_REL) != 0) return;
  if (knob.usable()) {
    by_library.knob = knob;
    if (!knob.of_process)
      copy_real_path(object_of(inside), by_library.pool.path, sizeof by_library.pool.path);
  } else {
    fill(&by_library, inside);
  }
  const Steered* nobody = nullptr;
  __atomic_compare_exchange_n(&chosen, &nobody, &by_library, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
}

const OpenmpRuntime* steered_runtime() {
  const Steered* steered = in_use();
  return steered != nullptr && steered->runtime.usable() ? &steered->runtime : nullptr;
}

const BlasPool* steered_pool() {
  const Steered* steered = in_use();
  return steered != nullptr && pool_follows(*steered) ? &steered->pool : nullptr;
}

WidthOfCopy width_of_copy(const void* inside, const void* setter, bool openmp) {
  if (openmp ? openmp_is_steered_by(setter) : pool_is_steered_by(setter)) return {true, nullptr};
  OtherCopy* copy = openmp || environment().steer_blas ? known_copy(inside, setter) : nullptr;
  if (copy == nullptr) return {};
  const Steered& steered = copy->steered;
  const bool follows = openmp
                           ? is_of(steered.runtime.set_num_threads, setter)
                           : pool_follows(steered) && is_of(steered.pool.set_num_threads, setter);
  if (!follows) return {};
  note_following(*copy);
  return {true, copy};
}

bool openmp_is_steered_by(const void* setter) {
  const OpenmpRuntime* runtime = steered_runtime();
  return runtime != nullptr && reinterpret_cast<const void*>(runtime->set_num_threads) == setter;
}

bool pool_is_steered_by(const void* setter) {
  const BlasPool* pool = steered_pool();
  return pool != nullptr && reinterpret_cast<const void*>(pool->set_num_threads) == setter;
}

bool knob_is_steered_by(const void* setter) {
  const Steered* steered = in_use();
  return steered != nullptr && steered->knob.usable() &&
         reinterpret_cast<const void*>(steered->knob.set) == setter;
}

int set_knob_here(int width) {
  const Steered* steered = in_use();
  if (steered == nullptr || !steered->knob.usable() || steered->knob.of_process) return 0;
  return steered->knob.set(width);
}

bool width_could_be_set(const SteeredThread& thread) {
  const auto* steered = static_cast<const Steered*>(thread.steered);
  if (steered == nullptr) return false;
  if (steered->knob.usable()) return knob_follows(steered->knob);
  return steered->runtime.usable() || (pool_follows(*steered) && !several_threads_issue());
}

bool inside_region() {
  const OpenmpRuntime* steered = steered_runtime();
  return steered != nullptr && steered->in_parallel() != 0;
}

void publish_default_width(int width) {
  const Attachment* attached = attachment();
  const Steered* steered = in_use();
  if (attached == nullptr || steered == nullptr || width <= 0) return;
  publish_choice(*attached, *steered);
  uint32_t* there = &attached->client->header.default_width;
  if (optile_load32(there) != static_cast<uint32_t>(width)) {
    optile_store32(there, static_cast<uint32_t>(width));
  }
}

void leave_width(SteeredThread& thread, uint64_t now) {
  thread.steered = nullptr;
  thread.actuated = false;
  thread.blas_own = 0;
  thread.narrowed = false;
  thread.effective_width = 0;
  if (several_threads_issue()) enter_op(thread.slot, &thread.part, 0, 0, now);
}

void apply_width(SteeredThread& thread, const WantedWidth& wanted, uint64_t now) {
  thread.actuated = false;
  thread.narrowed = false;
  thread.blas_own = 0;
  auto* const copy = static_cast<OtherCopy*>(thread.steers);
  if (copy == nullptr) {
    apply_to(thread, in_use(), wanted, now);
    return;
  }
  // Each count is compared with what the same copy had before.
  thread.own_of_chosen = thread.default_width;
  thread.default_width = __atomic_load_n(&copy->own_seen, __ATOMIC_RELAXED);
  apply_to(thread, &copy->steered, wanted, now);
  __atomic_store_n(&copy->own_seen, thread.default_width, __ATOMIC_RELAXED);
  const Attachment* attached = attachment();
  if (attached != nullptr && in_use() != nullptr) publish_choice(*attached, *in_use());
}

void give_pool_back(SteeredThread& thread) {
  const auto* steered = static_cast<const Steered*>(thread.steered);
  if (thread.blas_own != 0 && steered != nullptr) {
    widen_pool(*steered, thread.blas_set, thread.blas_own);
  }
  thread.blas_own = 0;
}

void restore_width(SteeredThread& thread) {
  const auto* steered = static_cast<const Steered*>(thread.steered);
  if (thread.actuated) {
    thread.actuated = false;
    // Another count was set inside the op by the program, and stays. OpenBLAS's OpenMP build sets
    // the one that it finds, which says nothing.
    if (steered->runtime.get_max_threads() == thread.effective_width) {
      steered->runtime.set_num_threads(thread.own_count);
    }
  }
  give_pool_back(thread);
  if (thread.knob_set != 0 && steered != nullptr) restore_knob(thread, steered->knob);
  if (thread.own_of_chosen >= 0) thread.default_width = thread.own_of_chosen;
  thread.own_of_chosen = -1;
}

HeldWidth hold_width(uint32_t cap) {
  HeldWidth held;
  const Steered* steered = in_use();
  if (steered == nullptr || !steered->runtime.usable() || cap == 0 || is_fixed_by_user())
    return held;
  const int own = steered->runtime.get_max_threads();
  const int most = within_limit(own);
  const int narrow = width_that_keeps_team(steered->runtime.kind, static_cast<int>(cap), most);
  if (narrow >= most) return held;
  held.steered = steered;
  held.own = own;
  held.set = narrow;
  steered->runtime.set_num_threads(narrow);
  if (!pool_follows(*steered)) return held;
  // Somebody else may be inside a product.
  if (several_threads_issue()) {
    leave_pools();
    return held;
  }
  const int pool_now = steered->pool.get_num_threads();
  if (narrow >= pool_now) return held;
  held.pool_own = pool_now;
  held.pool_set = narrow;
  narrow_pool(*steered, pool_now, narrow);
  return held;
}

void release_pool(HeldWidth& held) {
  if (held.pool_set == 0) return;
  widen_pool(*static_cast<const Steered*>(held.steered), held.pool_set, held.pool_own);
  held.pool_set = 0;
}

void release_width(HeldWidth& held) {
  const auto* steered = static_cast<const Steered*>(held.steered);
  if (steered == nullptr) return;
  const OpenmpRuntime& runtime = steered->runtime;
  // Another count than ours was set by the program meanwhile, and stays.
  if (held.set != 0 && runtime.get_max_threads() == held.set) runtime.set_num_threads(held.own);
  release_pool(held);
}

void leave_pool() {
  const Steered* steered = in_use();
  if (steered == &by_library) release_knob();
  if (!may_steer() || !environment().steer_blas) return;
  bool any = steered != nullptr && steered->pool.steerable();
  for (const OtherCopy& copy : other_copies) {
    any = any ||
          (__atomic_load_n(&copy.ready, __ATOMIC_ACQUIRE) != 0 && copy.steered.pool.steerable());
  }
  if (any) leave_pools();
}

}  // namespace optile::preload
