#include "bindings/preload/width_actuator.h"

#include <string.h>

#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "bindings/preload/user_word.h"

namespace optile::preload {
namespace {

// Written before it is chosen, never after: an op that is open keeps to the one it began with.
struct Steered {
  OpenmpRuntime runtime;
  BlasPool pool;
  int pool_own = 0;  // the pool's own count, before we touched it
  CountKnob knob;    // where it is usable, runtime and pool are not
};

// In rising rank: each stands until one that knows better comes.
Steered by_library;
Steered by_speaker;  // what a region, or an annotated op, is bound to
Steered by_framework;
int library_asked = 0;  // 1 = its choice was made, or is being made
int speaker_asked = 0;
int framework_asked = 0;
const Steered* chosen = nullptr;
const Steered* published = nullptr;
bool pool_shared = false;
int pool_narrowed_from = 0;  // while it is narrowed: the count to give back

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

void publish_choice(const Attachment& attached, const Steered& steered) {
  optile_client_header& header = attached.client->header;
  const bool told = __atomic_load_n(&published, __ATOMIC_RELAXED) == &steered;
  if (told && optile_load32(&header.blas_ready) != 0) return;
  __atomic_store_n(&published, &steered, __ATOMIC_RELAXED);
  optile_store32(&header.blas_ready, 0);
  optile_store32(&header.runtime, OPTILE_RUNTIME_UNKNOWN);
  memcpy(header.runtime_path, steered.runtime.path, sizeof header.runtime_path);
  memcpy(header.blas_path, steered.pool.path, sizeof header.blas_path);
  optile_store32(&header.blas_threads, static_cast<uint32_t>(steered.pool_own));
  optile_store32(&header.runtime, steered.runtime.kind);
  optile_store32(&header.blas_ready, 1);
}

void apply_pool(IssuingThread& thread, const Steered& steered, int width) {
  thread.blas_own = 0;
  if (!pool_follows(steered)) return;
  if (several_threads_issue()) {
    leave_pool();
    return;
  }
  const int now = steered.pool.get_num_threads();
  const int wanted = width < now ? width : now;
  if (wanted == now || wanted < 1) return;
  __atomic_store_n(&pool_narrowed_from, now, __ATOMIC_RELAXED);
  steered.pool.set_num_threads(wanted);
  thread.blas_own = now;
  thread.blas_set = wanted;
}

// While one thread issues ops there is nobody to share with.
int share_cores(IssuingThread& thread, int width, uint32_t cores, uint64_t now) {
  thread.narrowed = false;
  if (!several_threads_issue()) return width;
  const auto wide = static_cast<uint32_t>(width > 0 ? width : 0);
  const auto given = static_cast<int>(enter_op(thread.slot, &thread.part, wide, cores, now));
  thread.narrowed = given < width;
  return given;
}

void restore_pool(IssuingThread& thread, const BlasPool& pool) {
  // Whoever set another count meanwhile meant it. A forked child has no pool: asking for a count
  // would start one.
  if (!is_forked_child() && pool.get_num_threads() == thread.blas_set) {
    pool.set_num_threads(thread.blas_own);
  }
  __atomic_store_n(&pool_narrowed_from, 0, __ATOMIC_RELAXED);
  thread.blas_own = 0;
}

int bounded(const WantedWidth& wanted, int own) {
  const auto at_most = [](uint32_t most, int width) {
    return most != 0 && static_cast<int>(most) < width ? static_cast<int>(most) : width;
  };
  return at_most(wanted.width, at_most(wanted.cap, own));
}

// OpenBLAS with threads of its own and no OpenMP beside it: its count is the op's width. It belongs
// to the process, so with several issuing threads it stays as it is.
void apply_pool_alone(IssuingThread& thread, const Steered& steered, const WantedWidth& wanted,
                      uint64_t now) {
  const int own = steered.pool.get_num_threads();
  if (thread.own_width != 0) note_own_width(own, thread.own_width);
  thread.own_width = own;
  thread.effective_width = own;
  publish_own_width(own);
  const int narrow = bounded(wanted, own);
  if (narrow < own) apply_pool(thread, steered, narrow);
  if (several_threads_issue()) share_cores(thread, 0, 0, now);
  if (thread.blas_own != 0) thread.effective_width = thread.blas_set;
}

bool knob_follows(const CountKnob& knob) {
  return knob.usable() && !(knob.of_process && several_threads_issue());
}

// The library's own count.
void apply_knob(IssuingThread& thread, const CountKnob& knob, const WantedWidth& wanted,
                uint64_t now) {
  if (!knob_follows(knob)) {
    leave_width(thread, now);
    return;
  }
  const int own = knob.get();
  if (thread.own_width != 0) note_own_width(own, thread.own_width);
  const int width = share_cores(thread, bounded(wanted, own), wanted.cores, now);
  const bool narrow = width < own && width > 0;
  thread.own_width = own;
  thread.effective_width = width;
  publish_own_width(own);
  if (knob.of_process) {
    knob.set(narrow ? width : 0);
  } else if (narrow) {
    thread.knob_own = knob.set(width);
    thread.knob_set = width;
  }
}

void restore_knob(IssuingThread& thread, const CountKnob& knob) {
  const int there = knob.set(thread.knob_own);
  // Another count was set inside the op by the program, and stays.
  if (there != thread.knob_set) knob.set(there);
  thread.knob_set = 0;
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

bool widths_can_be_set() {
  const Steered* steered = in_use();
  if (steered != nullptr && steered->knob.usable()) return knob_follows(steered->knob);
  return steered_runtime() != nullptr || (steered_pool() != nullptr && !several_threads_issue());
}

bool inside_region() {
  const OpenmpRuntime* steered = steered_runtime();
  return steered != nullptr && steered->in_parallel() != 0;
}

void publish_own_width(int width) {
  const Attachment* attached = attachment();
  const Steered* steered = in_use();
  if (attached == nullptr || steered == nullptr || width <= 0) return;
  publish_choice(*attached, *steered);
  uint32_t* there = &attached->client->header.own_width;
  if (optile_load32(there) != static_cast<uint32_t>(width)) {
    optile_store32(there, static_cast<uint32_t>(width));
  }
}

void leave_width(IssuingThread& thread, uint64_t now) {
  thread.actuated = false;
  thread.blas_own = 0;
  thread.narrowed = false;
  thread.effective_width = 0;
  if (several_threads_issue()) enter_op(thread.slot, &thread.part, 0, 0, now);
}

void apply_width(IssuingThread& thread, const WantedWidth& wanted, uint64_t now) {
  const Steered* steered = in_use();
  const bool pool_alone =
      steered != nullptr && !steered->runtime.usable() && pool_follows(*steered);
  thread.actuated = false;
  thread.narrowed = false;
  thread.blas_own = 0;
  thread.steered = steered;
  if (steered != nullptr && steered->knob.usable()) {
    apply_knob(thread, steered->knob, said_exactly() ? WantedWidth{} : wanted, now);
    return;
  }
  if (pool_alone) {
    apply_pool_alone(thread, *steered, wanted, now);
    return;
  }
  if (steered == nullptr || !steered->runtime.usable()) {
    thread.effective_width = 0;
    share_cores(thread, 0, 0, now);
    return;
  }
  const int count = steered->runtime.get_max_threads();
  const int own = within_limit(count);
  note_own_width(own, thread.own_width);
  const WantedWidth obeyed = said_exactly() ? WantedWidth{} : wanted;
  const int effective = share_cores(thread, bounded(obeyed, own), obeyed.cores, now);
  thread.own_width = own;
  thread.own_count = count;
  thread.effective_width = effective;
  publish_own_width(own);
  if (effective != own) {
    steered->runtime.set_num_threads(effective);
    thread.actuated = true;
    apply_pool(thread, *steered, effective);
  }
}

void restore_width(IssuingThread& thread) {
  const auto* steered = static_cast<const Steered*>(thread.steered);
  if (thread.actuated) {
    thread.actuated = false;
    // Another count was set inside the op by the program, and stays. OpenBLAS's OpenMP build sets
    // the one that it finds, which says nothing.
    if (steered->runtime.get_max_threads() == thread.effective_width) {
      steered->runtime.set_num_threads(thread.own_count);
    }
  }
  if (thread.blas_own != 0) restore_pool(thread, steered->pool);
  if (thread.knob_set != 0) restore_knob(thread, steered->knob);
}

HeldWidth hold_width(uint32_t cap) {
  HeldWidth held;
  const Steered* steered = in_use();
  if (steered == nullptr || !steered->runtime.usable() || cap == 0 || said_exactly()) return held;
  const int own = steered->runtime.get_max_threads();
  const int narrow = static_cast<int>(cap);
  if (narrow >= within_limit(own)) return held;
  held.steered = steered;
  held.own = own;
  held.set = narrow;
  steered->runtime.set_num_threads(narrow);
  if (!pool_follows(*steered)) return held;
  // Somebody else may be inside a product.
  if (several_threads_issue()) {
    leave_pool();
    return held;
  }
  const int pool_now = steered->pool.get_num_threads();
  if (narrow >= pool_now) return held;
  held.pool_own = pool_now;
  held.pool_set = narrow;
  __atomic_store_n(&pool_narrowed_from, pool_now, __ATOMIC_RELAXED);
  steered->pool.set_num_threads(narrow);
  return held;
}

void release_width(const HeldWidth& held) {
  const auto* steered = static_cast<const Steered*>(held.steered);
  if (steered == nullptr) return;
  const OpenmpRuntime& runtime = steered->runtime;
  // Another count than ours was set by the program meanwhile, and stays.
  if (held.set != 0 && runtime.get_max_threads() == held.set) runtime.set_num_threads(held.own);
  if (held.pool_set == 0) return;
  if (!is_forked_child() && steered->pool.get_num_threads() == held.pool_set) {
    steered->pool.set_num_threads(held.pool_own);
  }
  __atomic_store_n(&pool_narrowed_from, 0, __ATOMIC_RELAXED);
}

void leave_pool() {
  const Steered* steered = in_use();
  if (steered == &by_library) release_knob();
  if (steered == nullptr || !steered->pool.steerable() || !may_steer()) return;
  if (!environment().steer_blas || __atomic_exchange_n(&pool_shared, true, __ATOMIC_RELAXED))
    return;
  // The other thread may be inside an op right now, with the pool narrowed.
  const int narrowed_from = __atomic_load_n(&pool_narrowed_from, __ATOMIC_RELAXED);
  if (narrowed_from != 0) steered->pool.set_num_threads(narrowed_from);
  add_fallback(OPTILE_FALLBACK_BLAS_SHARED);
}

}  // namespace optile::preload
