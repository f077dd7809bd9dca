#include "bindings/preload/probes/tensorflow/kernel_table.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

namespace optile::preload {
namespace {

constexpr uint32_t kSlots = 32768;  // a power of two
constexpr uint32_t kProbes = 16;
constexpr uint32_t kFirst = 2;    // executions that set things up
constexpr uint32_t kJudged = 10;  // executions by which it is known whether it is small
constexpr uint32_t kLookedAtEvery = 16;

Kernel kernels[kSlots];

// Parts of types. What is asynchronous in TensorFlow does not come here at all.
constexpr const char* kBlocking[] = {
    "Barrier",  "BatchFunction", "Collective", "Dataset", "File",  "InitializeTable",
    "Iterator", "Mutex",         "Print",      "PyFunc",  "Queue", "Reader",
    "Recv",     "Restore",       "Rpc",        "Save",    "Send",  "Stage",
    "Summary",  "Unbatch",       "Unstage"};

struct Parts {
  const char* type;
  uint32_t name_bytes, type_bytes, all_bytes;
};

Parts parts_of(const char* trace) {
  Parts parts = {};
  parts.name_bytes = static_cast<uint32_t>(strcspn(trace, ":"));
  parts.type = trace + parts.name_bytes + (trace[parts.name_bytes] == ':' ? 1 : 0);
  parts.type_bytes = static_cast<uint32_t>(strcspn(parts.type, "#"));
  parts.all_bytes = static_cast<uint32_t>(strlen(parts.type));
  return parts;
}

uint64_t hash_of(const char* text, uint32_t bytes) {
  const uint64_t hash = base::hash_bytes(text, bytes);
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool may_block(const char* type, uint32_t bytes) {
  for (const char* part : kBlocking) {
    if (memmem(type, bytes, part, strlen(part)) != nullptr) return true;
  }
  return false;
}

void describe_kernel(const char* trace, char name[OPTILE_NAME_BYTES],
                     char shape[OPTILE_SHAPE_BYTES]) {
  const Parts parts = parts_of(trace);
  snprintf(name, OPTILE_NAME_BYTES, "%.*s", static_cast<int>(parts.type_bytes), parts.type);
  const char* begin = strstr(parts.type, "#shape=(");
  begin = begin == nullptr ? "" : begin + strlen("#shape=(");
  const char* end = strstr(begin, ")#");
  snprintf(shape, OPTILE_SHAPE_BYTES, "%.*s",
           static_cast<int>(end == nullptr ? strlen(begin) : static_cast<size_t>(end - begin)),
           begin);
}

Kernel* find_kernel(const void* address) {
  uint32_t at = static_cast<uint32_t>(base::mix64(reinterpret_cast<uintptr_t>(address)) >> 32);
  for (uint32_t probe = 0; probe < kProbes; ++probe, ++at) {
    Kernel& kernel = kernels[at % kSlots];
    const void* there = __atomic_load_n(&kernel.address, __ATOMIC_RELAXED);
    if (there == address) return &kernel;
    if (there != nullptr) continue;
    if (__atomic_compare_exchange_n(&kernel.address, &there, address, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        there == address) {
      return &kernel;
    }
  }
  return nullptr;
}

void look_at_kernel(Kernel* kernel, const TensorflowFunctions& functions, const void* context) {
  const bool known = __atomic_load_n(&kernel->key, __ATOMIC_RELAXED) != 0;
  const uint32_t executions = __atomic_load_n(&kernel->executions, __ATOMIC_RELAXED);
  if (known && executions % kLookedAtEvery != 0) return;
  TraceText trace = {};
  functions.trace(&trace, kernel->address, context, true);
  const Parts parts = parts_of(trace.text);
  const uint64_t instance = hash_of(trace.text, parts.name_bytes);
  if (!known || instance != __atomic_load_n(&kernel->instance, __ATOMIC_RELAXED)) {
    const bool blocks = may_block(parts.type, parts.type_bytes);
    kernel->set_kind(blocks ? KernelKind::kLeft : KernelKind::kNew);
    __atomic_store_n(&kernel->executions, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&kernel->spent, 0, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&kernel->instance, instance, __ATOMIC_RELAXED);
  __atomic_store_n(&kernel->key, hash_of(parts.type, parts.all_bytes), __ATOMIC_RELAXED);
  if (trace.is_elsewhere()) functions.free_text(trace.text);
}

void note_execution(Kernel* kernel, uint64_t ticks, uint64_t small) {
  const uint32_t count = __atomic_add_fetch(&kernel->executions, 1, __ATOMIC_RELAXED);
  if (kernel->kind() != KernelKind::kNew) return;
  if (count > kFirst) __atomic_fetch_add(&kernel->spent, ticks, __ATOMIC_RELAXED);
  if (count != kJudged) return;
  const uint64_t mean = __atomic_load_n(&kernel->spent, __ATOMIC_RELAXED) / (kJudged - kFirst);
  __atomic_store_n(&kernel->mean, mean, __ATOMIC_RELAXED);
  kernel->set_kind(mean < small ? KernelKind::kSmall : KernelKind::kOp);
}

}  // namespace optile::preload
