#include "bindings/preload/runtimes/object_base.h"

#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

PerAddress<const void*, 4096> bases;

}  // namespace

const void* base_of(const void* address) {
  return bases.get(address,
                   [](const void* inside) -> const void* { return place_of(inside).base; });
}

}  // namespace optile::preload
