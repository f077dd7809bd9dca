// What oneDNN's primitives are: by what their descriptors say, the same in every run.
//
// Fixed size, no allocation; any thread. What does not fit, or comes while another thread writes,
// is not known.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/probe.h"
#include "bindings/preload/probes/onednn/onednn_copy.h"

namespace optile::preload {

struct PrimitiveRecord {
  uint64_t key;     // 0 = free
  uint32_t flags;   // optile_op_flag
  uint32_t frozen;  // was seen to keep the number of threads that it was described with
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
};

// Of a primitive's descriptor; null where it says nothing, or too many are known.
PrimitiveRecord* record_of_descriptor(const OneDnnCopy& copy, const void* descriptor);

// A primitive was created; its address may be one of an earlier primitive, which is gone.
void note_primitive(const void* primitive, PrimitiveRecord* record);
// Null where it was not noted.
PrimitiveRecord* record_of_primitive(const void* primitive);

}  // namespace optile::preload
