#include "bindings/preload/probes/onednn/onednn_ops.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {
namespace {

struct Said {
  const char* verb;  // "describe", "create", or "" for an execution
  const char* name;
  const char* shape;
};

void describe(const void* source, char name[OPTILE_NAME_BYTES], char shape[OPTILE_SHAPE_BYTES]) {
  const auto& said = *static_cast<const Said*>(source);
  snprintf(name, OPTILE_NAME_BYTES, "%s%s%s", said.verb, said.verb[0] == '\0' ? "" : " ",
           said.name);
  snprintf(shape, OPTILE_SHAPE_BYTES, "%s", said.shape);
}

uint64_t key_of(const char* verb, uint64_t what) {
  const uint64_t key = base::hash_word(what, base::hash_bytes(verb, strlen(verb)));
  return key == 0 ? 1 : key;
}

const char* kind_of(const void* operation, const void* real) {
  const auto name = onednn_copy_of(real).kind_name;
  return name == nullptr || operation == nullptr ? "primitive"
                                                 : name(*static_cast<const int*>(operation));
}

}  // namespace

DescribeScope::DescribeScope(const char* kind, const void* operation, const void* caller,
                             const void* real) {
  if (!op_.may_begin(caller, onednn_follows_steered_width, real)) return;
  if (kind == nullptr) kind = kind_of(operation, real);
  const Said said = {"describe", kind, ""};
  const uint64_t key = key_of("describe", base::hash_bytes(kind, strlen(kind)));
  op_.begin({key, OPTILE_OP_FIXED, OPTILE_PROBE_ONEDNN, describe, &said});
}

CreateScope::CreateScope(const void* descriptor, const void* caller, const void* real) {
  if (!op_.may_begin(caller, onednn_follows_steered_width, real)) return;
  noted_ = true;
  record_ = record_of_descriptor(onednn_copy_of(real), descriptor);
  if (record_ == nullptr) return;
  const Said said = {"create", record_->name, record_->shape};
  op_.begin(
      {key_of("create", record_->key), OPTILE_OP_FIXED, OPTILE_PROBE_ONEDNN, describe, &said});
}

void CreateScope::done(const void* primitive) const {
  // Also where it is not known: the address may be that of an earlier primitive.
  note_primitive(primitive, noted_ ? record_ : nullptr);
}

ExecuteScope::ExecuteScope(const void* primitive, const void* caller, const void* real) {
  if (!op_.may_begin(caller, onednn_follows_steered_width, real)) return;
  PrimitiveRecord* record = record_of_primitive(primitive);
  if (record == nullptr) {
    const OneDnnCopy copy = onednn_copy_of(real);
    const void* descriptor = nullptr;
    if (copy.descriptor_of == nullptr || copy.descriptor_of(primitive, &descriptor) != 0) return;
    record = record_of_descriptor(copy, descriptor);
    if (record == nullptr) return;
    note_primitive(primitive, record);
  }
  const bool follows =
      onednn_follows_steered_width(real) && __atomic_load_n(&record->frozen, __ATOMIC_RELAXED) == 0;
  const uint32_t flags = record->flags | (follows ? 0U : OPTILE_OP_FIXED);
  const Said said = {"", record->name, record->shape};
  op_.begin({record->key, flags, OPTILE_PROBE_ONEDNN, describe, &said});
  if (follows) record_ = record;
}

ExecuteScope::~ExecuteScope() {
  const IssuingThread* thread = known_issuing_thread();
  if (record_ == nullptr || thread == nullptr || thread->depth == 0) return;
  const auto width = static_cast<uint32_t>(thread->effective_width);
  if (width == 0 || thread->region_threads <= width) return;
  __atomic_store_n(&record_->frozen, 1, __ATOMIC_RELAXED);
}

}  // namespace optile::preload
