#include "bindings/preload/runtimes/loaded_object.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "bindings/preload/runtimes/object_imports.h"

namespace optile::preload {
namespace {

// The list of objects has no name for the program itself. Asked for once, before anybody can load
// anything.
const char* program_path = "";

// As glibc fills it in since 2.35, with room for what may follow.
struct FoundObject {
  uint64_t flags;
  void* begin;
  void* end;
  link_map* object;
  void* more[16];
};
// Without any lock; where a thread walks the list while another one forks, the child finds the
// list's lock taken for good. Null in older C libraries.
int (*find_object)(void* address, FoundObject* found) = nullptr;

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
  if (find_object == nullptr) {
    dl_iterate_phdr(take_if_there, &wanted);
    return wanted;
  }
  FoundObject found = {};
  if (find_object(const_cast<void*>(address), &found) != 0) return wanted;
  wanted.found = true;
  wanted.place.base = found.begin;
  wanted.place.offset =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(found.begin);
  if (found.object->l_name != nullptr) wanted.place.path = found.object->l_name;
  return wanted;
}

// The program is the first in the list.
int take_inside(dl_phdr_info* object, size_t /*size*/, void* to) {
  *static_cast<const void**>(to) = object->dlpi_phdr;
  return 1;
}

__attribute__((constructor)) void begin_to_look() {
  void* function = dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (function == nullptr) dlerror();  // nothing for the program to find
  find_object = reinterpret_cast<int (*)(void*, FoundObject*)>(function);
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

bool names_object(const char* objects, const char* path) {
  const char* name = file_name(path);
  while (*objects != '\0') {
    const char* comma = strchr(objects, ',');
    const size_t length = comma == nullptr ? strlen(objects) : static_cast<size_t>(comma - objects);
    if (length > 0 && strncmp(name, objects, length) == 0 &&
        (name[length] == '\0' || name[length] == '.')) {
      return true;
    }
    if (comma == nullptr) return false;
    objects = comma + 1;
  }
  return false;
}

}  // namespace optile::preload
