#include "bindings/preload/actuators/default_width_source.h"

#include "bindings/preload/runtimes/framework_watch.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

// Kept beside the regions: it is often known before the first op, hence before attaching.
uint32_t strongest = OPTILE_WIDTH_DEFAULT;

void note_source(uint32_t source) {
  if (source > __atomic_load_n(&strongest, __ATOMIC_RELAXED)) {
    __atomic_store_n(&strongest, source, __ATOMIC_RELAXED);
  }
  const Attachment* attached = attachment();
  if (attached == nullptr) return;
  optile_store32(&attached->client->header.default_width_source, default_width_source());
}

// What a runtime starts with when nobody says anything.
int unspoken_width() {
  const uint32_t told = environment().omp_num_threads;
  // Not this thread's mask of now: the user may have it bound to one of many places.
  return within_limit(static_cast<int>(told != 0 ? told : usable_units()));
}

}  // namespace

uint32_t default_width_source() {
  const uint32_t source = __atomic_load_n(&strongest, __ATOMIC_RELAXED);
  const uint32_t told = environment().default_width_source;
  // A framework's own initialisation never covers what a person set.
  const bool person = source == OPTILE_WIDTH_PROGRAM || source == OPTILE_WIDTH_ENVIRONMENT;
  return person || told == OPTILE_WIDTH_DEFAULT ? source : told;
}

int within_limit(int width) {
  const int limit = environment().omp_thread_limit;
  return limit != 0 && limit < width ? limit : width;
}

bool is_fixed_by_user() {
  if (environment().respect != OPTILE_RESPECT_EXACT) return false;
  const uint32_t source = default_width_source();
  return source == OPTILE_WIDTH_ENVIRONMENT || source == OPTILE_WIDTH_PROGRAM;
}

void note_default_width(int width, int before) {
  if (width == before || width <= 0 || width == unspoken_width()) return;
  // PyTorch takes MKL's word for its own, before OpenMP's, and MKL has it anyway.
  if (before == 0 && width == environment().mkl_num_threads) {
    note_source(OPTILE_WIDTH_ENVIRONMENT);
    return;
  }
  // Without a word in the environment it starts at half the cores by itself.
  const bool framework = before == 0 && framework_probe_active() &&
                         environment().default_width_source == OPTILE_WIDTH_DEFAULT;
  note_source(framework ? OPTILE_WIDTH_FRAMEWORK : OPTILE_WIDTH_PROGRAM);
}

void note_program_set_width() {
  note_source(OPTILE_WIDTH_PROGRAM);
}

}  // namespace optile::preload
