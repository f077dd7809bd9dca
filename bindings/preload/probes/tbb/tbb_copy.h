// The one copy of oneTBB that is followed: the first whose algorithms come. What is asked of it are
// functions that it exports for its own headers; their names hold the types of their arguments.
#pragma once

#include <stddef.h>

#include "bindings/preload/actuators/count_knob.h"

namespace optile::preload {

// Whether `entry`, one of the functions that are interposed, belongs to that copy; the first that
// is asked for becomes it. Any thread; slow the first time.
bool is_followed_tbb(const void* entry);
// Whether `code` is that copy's. Some builds let calls of their own functions be interposed, too.
bool is_inside_tbb(const void* code);
// True inside a task of that copy, on the calling thread. False before there is one.
bool inside_tbb_task();

// How many threads the arena has room for that the calling thread is in; 0 where that is as many as
// an arena has that nobody gave a size.
int arena_size();

// How many threads the copy lets work at a time, by a tbb::global_control of ours beside the
// program's own, of which the smallest holds. Unusable before there is a copy, and for versions
// that nobody tried.
CountKnob tbb_knob();
// What the program is to read where its oneTBB said `value` of a parameter of global_control: as if
// ours were not there.
size_t value_without_ours(int parameter, size_t value);

}  // namespace optile::preload
