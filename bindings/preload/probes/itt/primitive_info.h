// What oneDNN says of a primitive in one line, the same as in its verbose mode:
// engine,kind,implementation,propagation,memories,attributes,algorithm,problem.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bindings/preload/core/probe.h"

namespace optile::preload {

// Not terminated: a part of the line.
struct Part {
  const char* text = "";
  size_t size = 0;
};

struct PrimitiveInfo {
  Part kind;
  Part implementation;
  Part propagation;  // none where it has no direction
  Part memories;     // src:f32:a:blocked:abcd::f0 wei:…
  Part attributes;
  Part algorithm;
  Part problem;  // sizes
};

// False where it is not of that form, or longer than any.
bool read_primitive_info(const char* line, PrimitiveInfo* info);

// By what is computed. How, and with which layouts, is no part of it: that may depend on the number
// of threads.
uint64_t key_of_primitive(const PrimitiveInfo& info);
bool is_backward(const PrimitiveInfo& info);
// `verb`: "" for an execution.
void describe_primitive(const PrimitiveInfo& info, const char* verb, char name[OPTILE_NAME_BYTES],
                        char shape[OPTILE_SHAPE_BYTES]);

}  // namespace optile::preload
