// What the shim says of its process when it attaches.
#pragma once

#include "bindings/abi/frames.h"

namespace optile::preload {

// Of a program that runs what others have written, by the name of its file. Pure.
bool is_interpreter(const char* executable);

// By one thread at a time. `whole`: whether no op of it was seen so far, and what it is about
// to do.
void fill_attach_request(optile_attach_request* attach_request, optile_whole_program whole);

}  // namespace optile::preload
