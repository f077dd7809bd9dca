// What the program itself says about its thread count while it runs: omp_set_num_threads from its
// own objects, and at::set_num_threads, are its user's word; the same call from inside a framework
// that initialises itself is not.
#pragma once

#include <stdint.h>

namespace optile::preload {

// Called for every omp_set_num_threads that passes through, before it takes effect.
void note_width_word(const void* caller, int width);

// Whose word the program's own width is, as far as heard (optile_width_source).
uint32_t own_width_source();

}  // namespace optile::preload
