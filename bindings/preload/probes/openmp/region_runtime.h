// The runtime's function behind one that opens a region. An object may be linked with no runtime at
// all and have one none the less, by the library that it was loaded for (MKL's threads): the loader
// finds that, and so it is searched for before a region is run by one thread.
#pragma once

#include "bindings/preload/runtimes/library_function.h"

namespace optile::preload {

// What the object around `caller` means by `function`; null where no loaded object has it, which is
// logged once. What regions ask of the runtime beside is then known for `caller` too. Any thread.
void* region_function(LibraryFunction& function, const void* caller);

}  // namespace optile::preload
