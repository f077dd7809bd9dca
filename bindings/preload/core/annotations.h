// The program's own word on its ops: what stands behind bindings/annotate/optile/annotate.h. The
// shim exports one table, `optile_annotation_api_1`, whose functions are called on the program's
// threads, at any time, also in forked children and inside regions: then they do nothing.
//
// Widths go to a runtime, and a program's word does not say which: the first region that opens
// inside an annotated op does, through region_in_op(); where none does, what the object that speaks
// is bound to.
#pragma once

#include "bindings/preload/core/issuing_thread.h"

namespace optile::preload {

// A region opens inside an op that waits for a runtime; `caller` as RegionScope has it.
void region_in_op(IssuingThread& thread, const void* caller);

}  // namespace optile::preload
