// Where the object around a piece of code is loaded. What is asked of the linker for that, and not
// for the address itself, is asked once for the object, by who comes first: nearly always a thread
// that waits for others and not one that is waited for, which a library's constructor may do while
// the linker's lock is held.
#pragma once

namespace optile::preload {

// Null when unknown. Remembered for each address, until something is unloaded. Any thread.
const void* base_of(const void* address);

// What stands for the object around `caller` in a table: where it is loaded, or the address itself
// where there is none around it.
inline const void* object_key(const void* caller) {
  const void* base = base_of(caller);
  return base != nullptr ? base : caller;
}

// Whether one object holds both.
inline bool is_of_same_object(const void* one, const void* other) {
  const void* base = base_of(one);
  return base != nullptr && base == base_of(other);
}

}  // namespace optile::preload
