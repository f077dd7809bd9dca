// The functions of an OpenMP runtime that the program came with: linked with it, or preloaded. They
// are what every caller means as long as the process lives, so the linker is asked for them before
// the program's first thread can wait for one that loads a library. Any thread.
#pragma once

namespace optile::preload {

// By the shim's constructor; nothing is found before.
void find_runtime_at_start();

// Null where the program came with no runtime, or with one that lacks `symbol`.
void* found_at_start(const char* symbol);

}  // namespace optile::preload
