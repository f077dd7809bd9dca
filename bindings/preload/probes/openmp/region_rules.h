// Which of the program's own regions may be given another width, and why the others may not
// (optile_region_tuning). What a program has sized by its number of threads cannot be seen, so
// everything that looks like it is a reason: the object of the region asks or sets how many threads
// there are, or another object does, since a count that was changed for the next region is there
// for everybody to read. Objects that the user lists by name are excused from all of that. And no
// region is tuned while an object may open one past us, which would run at what is in force. Any
// thread.
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

namespace optile::preload {

// Reasons that lie in the object which holds `function`. Slow: once for each region.
uint32_t reasons_of_object(const void* function);

// Reasons that hold for all regions now, as far as they were noticed.
uint32_t reasons_of_process();
// The same after a look whether objects came or went since the last one; to be asked before a
// changed count is left in force.
uint32_t reasons_looked_for();

// A region was opened inside a region.
void note_nested_region();
// One was opened for the first time, so that its object is bound to us.
void note_new_region();

// ---- pure --------------------------------------------------------------------------------------

// Whether a function of this name opens a team.
bool opens_a_region(const char* symbol);

}  // namespace optile::preload
