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
  uint64_t in_vain = 0;        // objects that had been loaded when all were searched for nothing
};

// What `caller` means by `function`; null where no loaded object has it. The object that holds it
// stays loaded from then on, where it is not the caller's own. Any thread. Slow once for each
// object.
void* function_behind(LibraryFunction& function, const void* caller);

// The same for a caller that sees no such function itself: what an object has that was loaded with
// the caller's, else any. Slow; the answer is remembered for the object.
void* search_function(LibraryFunction& function, const void* caller);

}  // namespace optile::preload
