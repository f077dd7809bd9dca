// What a program's file says about whether the shim may be in it. Read with a handful of system
// calls of its own and checked against the file's end. Like all of this folder it may run between
// vfork and exec, in a child that shares its parent's memory: it allocates nothing, takes no lock,
// writes to its own stack alone (1 KiB of it) and is no place where a thread can be cancelled.
#pragma once

#include <stddef.h>

namespace optile::preload {

enum class Bearing {
  kBears,   // or is not reached by a preload, or nothing that is understood here
  kDies,    // it ends, or complains, where the shim is preloaded
  kScript,  // its interpreter, which is a program itself, has to be asked
};

// As much of a script's first line as the kernel reads.
inline constexpr size_t kInterpreterBytes = 256;

// `fd`: a regular file. `first_is_taken`: something that must be the first library of all is
// preloaded behind the shim, which no program of glibc's survives. A script's interpreter is
// written to `interpreter`, which is of no use after another answer.
Bearing look_at_program(int fd, bool first_is_taken, char (&interpreter)[kInterpreterBytes]);

}  // namespace optile::preload
