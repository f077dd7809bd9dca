#include "bindings/preload/object_place.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "bindings/preload/object_imports.h"

namespace optile::preload {
namespace {

// The list of objects has no name for the program itself. Asked for once, before anybody can load
// anything.
const char* program_path = "";

struct Wanted {
  const void* address;
  bool found;
  ObjectPlace place;
};

// Where its first segment begins: the segments are in order.
uintptr_t begin_of(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type == PT_LOAD) return object.dlpi_addr + header.p_vaddr;
  }
  return object.dlpi_addr;
}

int take_if_there(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* wanted = static_cast<Wanted*>(to);
  if (!holds_address(*object, wanted->address)) return 0;
  wanted->found = true;
  wanted->place.offset = reinterpret_cast<uintptr_t>(wanted->address) - begin_of(*object);
  wanted->place.base = static_cast<const char*>(wanted->address) - wanted->place.offset;
  if (object->dlpi_name != nullptr) wanted->place.path = object->dlpi_name;
  return 1;
}

Wanted look_for(const void* address) {
  Wanted wanted = {address, false, {}};
  dl_iterate_phdr(take_if_there, &wanted);
  return wanted;
}

// The program is the first in the list.
int take_inside(dl_phdr_info* object, size_t /*size*/, void* to) {
  *static_cast<const void**>(to) = object->dlpi_phdr;
  return 1;
}

__attribute__((constructor)) void name_the_program() {
  Dl_info where = {};
  const void* inside = nullptr;
  dl_iterate_phdr(take_inside, &inside);
  if (dladdr(inside, &where) != 0 && where.dli_fname != nullptr) program_path = where.dli_fname;
}

}  // namespace

ObjectPlace place_of(const void* address) {
  Wanted wanted = look_for(address);
  if (wanted.found && wanted.place.path[0] == '\0') wanted.place.path = program_path;
  return wanted.place;
}

const char* library_of(const void* address) {
  return look_for(address).place.path;
}

}  // namespace optile::preload
