// What loaded objects need of others, from the tables that the dynamic linker reads itself. Slow:
// for first sights only. Any thread, inside dl_iterate_phdr; nothing is allocated.
#pragma once

#include <link.h>

namespace optile::preload {

// A name that the object needs; it lives as long as the object. True ends the walk.
using NeedVisitor = bool (*)(const char* name, bool weak, void* context);

// Every dynamic symbol that `object` needs. True when the visitor ended it.
bool visit_needs(const dl_phdr_info& object, NeedVisitor visit, void* context);

// Whether `object` is linked with the library that is called `name`.
bool needs_object(const dl_phdr_info& object, const char* name);

// Whether `object` has variables of which each thread has its own: what OpenMP's threadprivate and
// C++'s thread_local become.
bool keeps_data_per_thread(const dl_phdr_info& object);

// Whether `address` lies in `object`.
bool holds_address(const dl_phdr_info& object, const void* address);

}  // namespace optile::preload
