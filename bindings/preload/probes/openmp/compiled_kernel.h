// Kernels that PyTorch's Inductor compiles. While its graph runs without gradients, no op of the
// framework is around them, and each of their regions is an op of its own. Such a region may be
// narrowed when it begins, unlike a program's own: all of Inductor's code shares the work out by
// what the team turns out to be, and what it sizes before, by the count or by a constant, it needs
// no more of in a narrower team (docs/design/0025-torch-wheels.md).
//
// Any thread; no allocation; one look at an object's name for each region's function.
#pragma once

#include <stdint.h>

#include "bindings/abi/limits.h"

namespace optile::preload {

// Whether Inductor gives a kernel's library this path: FOLDER/to/cto….so, "c" and 51 digits of base
// 32, where the folder repeats the first two of them.
bool is_kernel_path(const char* path);

// Whether `function`, which holds the body of a region, lies in such a library.
bool is_compiled_kernel(const void* function);

// The op of a region whose body `function` holds; the same in every run with the same kernels.
uint64_t kernel_key(const void* function);
void describe_kernel(const void* function, char name[OPTILE_NAME_BYTES],
                     char shape[OPTILE_SHAPE_BYTES]);

}  // namespace optile::preload
