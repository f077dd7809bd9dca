#include "bindings/preload/core/annotations.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/annotate/optile/annotate.h"
#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/callers.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/runtimes/framework_watch.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

constexpr uint32_t kMostDimensions = 16;  // of a shape; further ones are left out

// What lies in the program's storage of an open op.
struct OpenAnnotation {
  optile_open_op open;
  uint64_t reported;
  const void* here;
};
static_assert(sizeof(OpenAnnotation) <= sizeof(optile_op), "an open op fits its storage");

struct Said {
  const char* name;
  const int64_t* shape;
  uint32_t dimensions;
};

void describe(const void* source, char name[OPTILE_NAME_BYTES], char shape[OPTILE_SHAPE_BYTES]) {
  const auto& said = *static_cast<const Said*>(source);
  snprintf(name, OPTILE_NAME_BYTES, "%s", said.name);
  shape[0] = '\0';
  size_t used = 0;
  for (uint32_t i = 0; i < said.dimensions && used < OPTILE_SHAPE_BYTES - 24; ++i) {
    const int written = snprintf(shape + used, OPTILE_SHAPE_BYTES - used, "%s%lld",
                                 i == 0 ? "" : "x", static_cast<long long>(said.shape[i]));
    if (written > 0) used += static_cast<size_t>(written);
  }
}

uint64_t key_of(const Said& said) {
  uint64_t key = base::hash_bytes(said.name, strlen(said.name));
  for (uint32_t i = 0; i < said.dimensions; ++i) {
    key = base::hash_word(static_cast<uint64_t>(said.shape[i]), key);
  }
  key ^= OPTILE_PROBE_ANNOTATION;
  return key == 0 ? 1 : key;
}

// While no runtime is steered nobody else knows of the regions of this one.
bool on_a_worker(const void* here) {
  return here != nullptr && steered_runtime() == nullptr && is_on_a_worker(here);
}

void begin(optile_op* op, const char* name, const int64_t* shape, uint32_t dimensions,
           const void* here) {
  auto* annotation = reinterpret_cast<OpenAnnotation*>(op);
  annotation->reported = 0;
  annotation->here = here;
  if (environment().off || is_forked_child() || name == nullptr) return;
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) close_what_was_left(*thread, op, __builtin_frame_address(0));
  const bool outermost = at_depth_0() != 0;
  if (outermost ? on_a_worker(here) : nested_wanted() == 0) return;
  Said said = {name, shape, shape == nullptr ? 0 : dimensions};
  if (said.dimensions > kMostDimensions) said.dimensions = kMostDimensions;
  const uint64_t key = key_of(said);
  const uint32_t flags = outermost ? 0U : uint32_t{OPTILE_OP_NESTED};
  const optile_op_identity identity = {key ^ flags, flags, OPTILE_PROBE_ANNOTATION, describe,
                                       &said};
  annotation->reported = 1;
  op_begin(&identity, &annotation->open);
  thread = outermost ? known_issuing_thread() : nullptr;
  if (thread == nullptr || thread->depth == 0) return;
  thread->outermost = op;
  thread->awaits_runtime = steered_runtime() == nullptr;
}

// Nothing opened a region that we see; the object that speaks is bound to a runtime all the same,
// as one is that calls LLVM's by its own entry points.
void choose_by_speaker(const void* here) {
  if (here == nullptr || steered_runtime() != nullptr || in_parallel_of(here) == nullptr) return;
  choose_runtime_of_speaker(here);
}

void end(optile_op* op) {
  auto* annotation = reinterpret_cast<OpenAnnotation*>(op);
  if (annotation->reported == 0) return;
  annotation->reported = 0;
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && thread->outermost == op) {
    thread->outermost = nullptr;
    if (thread->awaits_runtime && !is_forked_child()) {
      const int kept_errno = errno;
      choose_by_speaker(annotation->here);
      errno = kept_errno;
    }
    thread->awaits_runtime = false;
  }
  op_end(&annotation->open);
}

void step() {
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr) close_what_was_left(*thread, nullptr, __builtin_frame_address(0));
  declared_step();
}

}  // namespace

void region_in_op(IssuingThread& thread, const void* caller) {
  thread.awaits_runtime = false;
  if (steered_runtime() != nullptr) return;
  // A framework's bridge knows its runtime better than one region does.
  notice_framework(caller);
  choose_runtime_of_speaker(caller);
}

}  // namespace optile::preload

extern "C" const optile_annotation_api optile_annotation_api_1;
const optile_annotation_api optile_annotation_api_1 = {sizeof(optile_annotation_api), 0,
                                                       optile::preload::begin, optile::preload::end,
                                                       optile::preload::step};
