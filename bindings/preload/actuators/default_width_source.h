// Whose word the program's default width is. Nothing is interposed for omp_set_num_threads: where a
// call came from cannot be told behind a tail call, and a word sent to the wrong copy of a runtime
// is a word lost. What was said shows in the width that an op finds: one that is neither the
// environment's nor the machine's was set by somebody. at::set_num_threads is a symbol of its own,
// which PyTorch does not call while it initialises itself, so it is always a person's word.
#pragma once

#include <stdint.h>

namespace optile::preload {

// An op found this width; `before` is the one that the same thread's last op found, 0 for its
// first. On the issuing thread, outside every region.
void note_default_width(int width, int before);

// The threads of a team that is asked for so many: OMP_THREAD_LIMIT, which is not in the count that
// a program reads, binds too.
int within_limit(int width);

// Another count than the one that we had left in force was found: the program set it.
void note_program_set_width();

// Whose word the program's default width is, as far as known (optile_width_source).
uint32_t default_width_source();

// That width is somebody's word, and the user wants it obeyed to the letter (--respect exact): no
// plan, no lease and no neighbour changes it.
bool is_fixed_by_user();

}  // namespace optile::preload
