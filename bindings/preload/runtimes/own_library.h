// Libraries of ours that the shim opens into the program when there is something to do for them.
// They lie beside it, or where OPTILE_BRIDGE_DIR says.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace optile::preload {

// A handle, or null with errno; `why_it_matters` is what the log says is lost then. Code that we
// load into somebody's process must belong to them or to the administrator, and neither it nor its
// folder may be writable by everybody.
void* open_own_library(const char* name, const char* why_it_matters);

// How every interface of such a library begins.
struct OwnApiHead {
  uint32_t version;
  uint32_t bytes;
};
// The interface that the library's function `symbol` returns; null with errno as above, ENOEXEC
// where it is none of this version and size.
const OwnApiHead* find_own_api(const char* library, const char* symbol, OwnApiHead wanted,
                               const char* why_it_matters);

template <typename Api>
const Api* own_api(const char* library, const char* symbol, uint32_t version,
                   const char* why_it_matters) {
  static_assert(offsetof(Api, version) == offsetof(OwnApiHead, version) &&
                offsetof(Api, bytes) == offsetof(OwnApiHead, bytes));
  return reinterpret_cast<const Api*>(
      find_own_api(library, symbol, {version, sizeof(Api)}, why_it_matters));
}

}  // namespace optile::preload
