// What the threads of a team keep from one region to the next: threadprivate and thread_local
// variables of whatever opens regions. OpenMP promises their contents while the number of threads
// stays. libgomp ends the threads that a narrower team does not need, and their variables with
// them; a team of one ends none, and LLVM's runtime parks them all. So where an object that is not
// known to do without has such variables, libgomp's teams become one thread or stay as wide as they
// are: an op of a library between two regions of the program's would lose what those left behind.
#pragma once

#include <stdint.h>

namespace optile::preload {

// The object around `caller` opens its first region. Slow; any thread.
void note_team_of_object(const void* caller);

// Whether an object that opened a region keeps data in the threads of its team, as far as seen.
bool team_keeps_data();

// The width that an op gets which is to have `width` of `own` threads of a runtime of `kind`
// (optile_runtime).
int width_that_keeps_team(uint32_t kind, int width, int own);

// A library that is known to fix its teams before it opens them. Pure.
bool presizes_its_teams(const char* path);

}  // namespace optile::preload
