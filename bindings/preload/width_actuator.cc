#include "bindings/preload/width_actuator.h"

#include <string.h>

#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "bindings/preload/user_word.h"

namespace optile::preload {
namespace {

OpenmpRuntime runtime;
BlasPool pool;
int chosen = 0;  // 0 = nobody yet, 1 = being chosen, 2 = ready
bool pool_shared = false;
int pool_narrowed_from = 0;  // while it is narrowed: the count to give back
int pool_own = 0;            // its own count, before we touched it

void publish_choice(const Attachment& attached) {
  optile_client_header& header = attached.client->header;
  if (optile_load32(&header.blas_ready) != 0) return;
  memcpy(header.runtime_path, runtime.path, sizeof header.runtime_path);
  memcpy(header.blas_path, pool.path, sizeof header.blas_path);
  optile_store32(&header.blas_threads, static_cast<uint32_t>(pool_own));
  optile_store32(&header.runtime, runtime.kind);
  optile_store32(&header.blas_ready, 1);
}

void apply_pool(IssuingThread& thread, int width) {
  thread.blas_own = 0;
  if (!pool.steerable() || !environment().steer_blas || pool_own <= 1) return;
  if (several_threads_issue()) {
    leave_pool();
    return;
  }
  const int now = pool.get_num_threads();
  const int wanted = width < now ? width : now;
  if (wanted == now || wanted < 1) return;
  __atomic_store_n(&pool_narrowed_from, now, __ATOMIC_RELAXED);
  pool.set_num_threads(wanted);
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

void restore_pool(IssuingThread& thread) {
  // Whoever set another count meanwhile meant it. A forked child has no pool: asking for a count
  // would start one.
  if (!is_forked_child() && pool.get_num_threads() == thread.blas_set) {
    pool.set_num_threads(thread.blas_own);
  }
  __atomic_store_n(&pool_narrowed_from, 0, __ATOMIC_RELAXED);
  thread.blas_own = 0;
}

}  // namespace

void choose_steered_runtime(const void* caller) {
  int nobody = 0;
  if (!__atomic_compare_exchange_n(&chosen, &nobody, 1, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  resolve_runtime(caller, &runtime);
  resolve_blas(caller, &pool);
  if (pool.steerable()) pool_own = pool.get_num_threads();
  if (!runtime.usable()) add_fallback(OPTILE_FALLBACK_NO_RUNTIME);
  __atomic_store_n(&chosen, 2, __ATOMIC_RELEASE);
}

const OpenmpRuntime* steered_runtime() {
  return __atomic_load_n(&chosen, __ATOMIC_ACQUIRE) == 2 && runtime.usable() ? &runtime : nullptr;
}

bool inside_region() {
  const OpenmpRuntime* steered = steered_runtime();
  return steered != nullptr && steered->in_parallel() != 0;
}

void publish_own_width(int width) {
  const Attachment* attached = attachment();
  if (attached == nullptr || width <= 0) return;
  publish_choice(*attached);
  uint32_t* there = &attached->client->header.own_width;
  if (optile_load32(there) != static_cast<uint32_t>(width)) {
    optile_store32(there, static_cast<uint32_t>(width));
  }
}

void apply_width(IssuingThread& thread, const WantedWidth& wanted, uint64_t now) {
  thread.actuated = false;
  thread.blas_own = 0;
  const OpenmpRuntime* steered = steered_runtime();
  if (steered == nullptr) {
    thread.effective_width = 0;
    share_cores(thread, 0, 0, now);
    return;
  }
  const int own = steered->get_max_threads();
  int effective = own;
  const auto bound = [&effective](uint32_t most) {
    if (most != 0 && static_cast<int>(most) < effective) effective = static_cast<int>(most);
  };
  bound(wanted.cap);
  bound(wanted.width);
  effective = share_cores(thread, effective, wanted.cores, now);
  note_own_width(own, thread.own_width);
  thread.own_width = own;
  thread.effective_width = effective;
  publish_own_width(own);
  if (effective != own) {
    steered->set_num_threads(effective);
    thread.actuated = true;
    apply_pool(thread, effective);
  }
}

void restore_width(IssuingThread& thread) {
  if (thread.actuated) {
    thread.actuated = false;
    // Another count was set inside the op by the program, and stays. OpenBLAS's OpenMP build sets
    // the one that it finds, which says nothing.
    if (runtime.get_max_threads() == thread.effective_width) {
      runtime.set_num_threads(thread.own_width);
    }
  }
  if (thread.blas_own != 0) restore_pool(thread);
}

HeldWidth hold_width(uint32_t cap) {
  HeldWidth held;
  const OpenmpRuntime* steered = steered_runtime();
  if (steered == nullptr || cap == 0) return held;
  const int own = steered->get_max_threads();
  const int narrow = static_cast<int>(cap);
  if (narrow >= own) return held;
  held.own = own;
  held.set = narrow;
  steered->set_num_threads(narrow);
  if (!pool.steerable() || !environment().steer_blas || pool_own <= 1) return held;
  const int pool_now = pool.get_num_threads();
  if (narrow >= pool_now) return held;
  held.pool_own = pool_now;
  held.pool_set = narrow;
  __atomic_store_n(&pool_narrowed_from, pool_now, __ATOMIC_RELAXED);
  pool.set_num_threads(narrow);
  return held;
}

void release_width(const HeldWidth& held) {
  // Another count than ours was set by the program meanwhile, and stays.
  if (held.set != 0 && runtime.get_max_threads() == held.set) runtime.set_num_threads(held.own);
  if (held.pool_set == 0) return;
  if (!is_forked_child() && pool.get_num_threads() == held.pool_set) {
    pool.set_num_threads(held.pool_own);
  }
  __atomic_store_n(&pool_narrowed_from, 0, __ATOMIC_RELAXED);
}

void leave_pool() {
  if (__atomic_load_n(&chosen, __ATOMIC_ACQUIRE) != 2 || !pool.steerable() || !may_steer()) return;
  if (!environment().steer_blas || __atomic_exchange_n(&pool_shared, true, __ATOMIC_RELAXED))
    return;
  // The other thread may be inside an op right now, with the pool narrowed.
  const int narrowed_from = __atomic_load_n(&pool_narrowed_from, __ATOMIC_RELAXED);
  if (narrowed_from != 0) pool.set_num_threads(narrowed_from);
  add_fallback(OPTILE_FALLBACK_BLAS_SHARED);
}

}  // namespace optile::preload
