// The number of threads that libraries of this process are told when they ask for OMP_NUM_THREADS
// and nobody has set it: the launcher's, as far as it holds for this process. It stands in no
// environment, so that a program which decides by that variable what to tell its children
// (torchrun, joblib, Ray, a shell script) decides as without us. Any thread.
#pragma once

#include <stdint.h>

namespace optile::preload {

// 0: somebody else has said a number, or there was no launcher, or on another machine.
uint32_t launched_width();

// Once more, from the environment of now; by itself at the first question.
void read_launched_width();

// The variable as it is set; null where it is not.
char* set_variable(const char* name);

// Whether it has to stand in the environment all the same.
bool is_width_to_be_put();
// What stands there counts as this process's part from then on, for its children too.
void put_width();
// A number that a script says is its user's, for what it starts too: a rank of a torchrun that was
// started with it could not tell it from torchrun's own.
void note_reported_width();

}  // namespace optile::preload
