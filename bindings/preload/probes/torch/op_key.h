// Who a PyTorch op is: name, scope, and the shapes, types and integer lists of its inputs.
#pragma once

#include <ATen/record_function.h>

#include "bindings/preload/core/probe.h"

namespace optile::torch_bridge {

uint64_t key_of_name(const char* name);
// Never throws; an input that cannot be read counts as unknown.
uint64_t key_of_instance(const at::RecordFunction& op);
void describe_instance(const void* record_function, char name[OPTILE_NAME_BYTES],
                       char shape[OPTILE_SHAPE_BYTES]);
void describe_name(const void* record_function, char name[OPTILE_NAME_BYTES],
                   char shape[OPTILE_SHAPE_BYTES]);

}  // namespace optile::torch_bridge
