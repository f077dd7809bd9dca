// What oneDNN's primitives are: by what their descriptors say, the same in every run. And which of
// them is likely to be described next at a place of the step, since oneDNN settles how many threads
// a primitive has when it is described, before anybody can ask what it will be.
//
// Fixed size, no allocation; any thread. What does not fit, or comes while another thread writes,
// is not known.
#pragma once

#include <stdint.h>

#include "bindings/preload/onednn/onednn_copy.h"
#include "bindings/preload/probe.h"

namespace optile::preload {

struct PrimitiveRecord {
  uint64_t key;      // 0 = free
  uint64_t context;  // of the latest execution; 0 = none yet
  uint32_t flags;    // optile_op_flag
  uint32_t frozen;   // was seen to keep the number of threads that it was described with
  char name[OPTILE_NAME_BYTES];
  char shape[OPTILE_SHAPE_BYTES];
};

// Of a primitive's descriptor; null where it says nothing, or too many are known.
PrimitiveRecord* record_of_descriptor(const OneDnnCopy& copy, const void* descriptor);

// A primitive was created; its address may be one of an earlier primitive, which is gone.
void note_primitive(const void* primitive, PrimitiveRecord* record);
// Null where it was not noted.
PrimitiveRecord* record_of_primitive(const void* primitive);

// A place in the step at which something of one kind is described; never 0.
uint64_t place_of(uint64_t context, const char* kind);
// What was described at `place` is `descriptor` (or an iterator over descriptors).
void note_described(const void* descriptor, uint64_t place);
uint64_t place_described(const void* descriptor);  // 0 = not known

// What came of the latest description at `place`; null = nothing yet.
PrimitiveRecord* expected_at(uint64_t place);
void expect_at(uint64_t place, PrimitiveRecord* record);

}  // namespace optile::preload
