// The number of threads that libraries of this process are told when they ask for OMP_NUM_THREADS
// and nobody has set it: the launcher's, as far as it holds for this process. It stands in no
// environment, so that a program which decides by that variable what to tell its children
// (torchrun, joblib, Ray, a shell script) decides as without us. Any thread.
#pragma once

#include <stdint.h>

namespace optile::preload {

// 0: somebody else has said a number, or there was no launcher, or on another machine.
uint32_t told_width();

// Once more, from the environment of now; by itself at the first question.
void learn_told_width();

// The variable as it is set; null where it is not.
char* set_variable(const char* name);

// Before main, where the environment is read: runtimes that do not ask by getenv get it too.
void tell_width_to_runtimes();

}  // namespace optile::preload
