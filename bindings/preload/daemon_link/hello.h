// What the shim says of its process when it attaches.
#pragma once

#include "bindings/abi/frames.h"

namespace optile::preload {

// By one thread at a time.
void fill_hello(optile_hello* hello);

}  // namespace optile::preload
