// The function of a library that stands behind one of ours. Several copies of a library in one
// process are normal, and most of them are out of the reach of RTLD_NEXT.
#pragma once

#include <stdint.h>

namespace optile::preload {

// A function that is interposed, and where the one behind it was found. One static object for each.
struct LibraryFunction {
  const char* name;
  void* everywhere = nullptr;  // what every caller means: it is in the global scope
  uint32_t asked = 0;          // whether it is there
  void* somewhere = nullptr;   // for callers that cannot be told from their own address
};

// What `caller` means by `function`; null where no loaded object has it. The object that holds it
// stays loaded from then on. Any thread. Slow once for each call site.
void* function_behind(LibraryFunction& function, const void* caller);

}  // namespace optile::preload
