// Calls code of the program that may be left by a C++ exception or by the end of its thread. The
// shim is compiled without exceptions and linked with no unwinder, so that no destructor of its own
// runs then: what a call holds for the others is given back here. Not where it is left by longjmp.
#pragma once

namespace optile::preload {

// `clean_up(argument)` runs only where run(argument) is left by unwinding: once, on this thread,
// while all that lives on its stack is still there. It throws nothing itself. Any thread.
void run_with_cleanup(void (*run)(void*), void* argument, void (*clean_up)(void*));

}  // namespace optile::preload
