#include "bindings/preload/user_word.h"

#include <string.h>

#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "bindings/preload/framework_watch.h"
#include "bindings/preload/issuing_thread.h"
#include "bindings/preload/runtime_resolver.h"

namespace optile::preload {
namespace {

thread_local bool inside_explicit_call = false;

// Kept beside the regions: the word is often said before the first op, hence before attaching.
uint32_t heard = OPTILE_WIDTH_DEFAULT;

void note_source(uint32_t source) {
  if (source > __atomic_load_n(&heard, __ATOMIC_RELAXED)) {
    __atomic_store_n(&heard, source, __ATOMIC_RELAXED);
  }
  const Attachment* attached = attachment();
  if (attached == nullptr) return;
  optile_store32(&attached->client->header.own_width_source, own_width_source());
}

}  // namespace

uint32_t own_width_source() {
  const uint32_t said = __atomic_load_n(&heard, __ATOMIC_RELAXED);
  const uint32_t told = environment().own_width_source;
  // A framework's own initialisation never covers what a person said.
  return said == OPTILE_WIDTH_PROGRAM || told == OPTILE_WIDTH_DEFAULT ? said : told;
}

void note_width_word(const void* caller, int width) {
  notice_framework(caller);
  const bool framework = is_framework(caller) && !inside_explicit_call;
  note_source(framework ? OPTILE_WIDTH_FRAMEWORK : OPTILE_WIDTH_PROGRAM);
  // Inside an op of ours the count in force is not the program's: remember what to go back to.
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && thread->depth > 0 && thread->actuated && width > 0) {
    thread->own_width = width;
  }
}

}  // namespace optile::preload

extern "C" void omp_set_num_threads(int width) {
  using optile::preload::note_width_word;
  const void* caller = __builtin_return_address(0);
  auto* real = reinterpret_cast<void (*)(int)>(
      optile::preload::resolve_cached(caller, "omp_set_num_threads"));
  if (!optile::preload::environment().off && !optile::preload::is_forked_child()) {
    note_width_word(caller, width);
  }
  if (real != nullptr) real(width);
}

// at::set_num_threads(int)
extern "C" void _ZN2at15set_num_threadsEi(int width) {
  const void* caller = __builtin_return_address(0);
  auto* real = reinterpret_cast<void (*)(int)>(
      optile::preload::resolve_cached(caller, "_ZN2at15set_num_threadsEi"));
  if (real == nullptr) return;
  // PyTorch throws at a count below one: nothing may be left behind on the way out.
  const bool person = width > 0 && !optile::preload::is_framework_core(caller);
  optile::preload::inside_explicit_call = person;
  real(width);
  optile::preload::inside_explicit_call = false;
}
