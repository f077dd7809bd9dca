// What the shim says of its process when it attaches.
#pragma once

#include "bindings/abi/frames.h"

namespace optile::preload {

// By one thread at a time.
void fill_attach_request(optile_attach_request* attach_request);

}  // namespace optile::preload
