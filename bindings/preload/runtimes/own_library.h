// Libraries of ours that the shim opens into the program when there is something to do for them.
// They lie beside it, or where OPTILE_BRIDGE_DIR says.
#pragma once

namespace optile::preload {

// A handle, or null with errno; `why_it_matters` is what the log says is lost then. Code that we
// load into somebody's process must belong to them or to the administrator, and neither it nor its
// folder may be writable by everybody.
void* open_own_library(const char* name, const char* why_it_matters);

}  // namespace optile::preload
