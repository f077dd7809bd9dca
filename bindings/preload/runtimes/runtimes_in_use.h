// Which OpenMP runtimes the program's calls really go to: a second one is reported, and one that
// stands in for libgomp is checked for what the program's objects need. Called from the slow path
// of resolving for an object; any thread.
#pragma once

#include <stdint.h>

#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {

// A call was resolved into the object at `path`; `by_its_own_names`: so that nothing stands in.
void note_runtime_in_use(const char* path, bool by_its_own_names = false);
// Whether `symbol` is one of LLVM's own entry points into OpenMP.
bool is_llvm_name(const char* symbol);

// Names the first runtime in a region that has no name yet. Cheap once it has.
void publish_runtime_in_use(const Attachment& attached);

// optile_runtime, by the object's file name.
uint32_t runtime_kind(const char* path);

// The first OpenMP function that a loaded object needs and the runtime at `path` lacks; null when
// there is none. The text belongs to the object.
const char* missing_in_runtime(const char* path);

}  // namespace optile::preload
