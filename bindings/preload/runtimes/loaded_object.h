// Which loaded object an address lies in, asked of the list of objects and not of the linker:
// dladdr() and dlsym() wait for whoever loads a library, also while that library's constructors
// run, and such a constructor may wait for the very thread that asks. Any thread.
#pragma once

#include <stdint.h>
#include <string.h>

namespace optile::preload {

struct ObjectPlace {
  const char* path = "";       // the linker's text, while the object is loaded; "" when unknown
  const void* base = nullptr;  // where the object begins
  uintptr_t offset = 0;        // of the address from there: the same in every run
};
ObjectPlace place_of(const void* address);

// File name of the object that holds `address`, "" when unknown.
inline const char* object_of(const void* address) {
  return place_of(address).path;
}
// The same, and "" for the program itself, which nobody has to keep loaded.
const char* library_of(const void* address);

// What stands behind the last slash.
inline const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Whether the file name of `path` is one of the comma-separated `objects`, each with or without
// what follows a dot in it: "libfoo.so" names libfoo.so.1 too. Pure.
bool names_object(const char* objects, const char* path);

}  // namespace optile::preload
