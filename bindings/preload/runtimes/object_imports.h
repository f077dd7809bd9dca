// What loaded objects need of others, from the tables that the dynamic linker reads itself. Slow:
// for first sights only. Any thread, inside dl_iterate_phdr; nothing is allocated.
#pragma once

#include <link.h>
#include <stdint.h>

namespace optile::preload {

// A name that the object needs; it lives as long as the object. True ends the walk.
using NeedVisitor = bool (*)(const char* name, bool weak, void* context);

// Every dynamic symbol that `object` needs. True when the visitor ended it.
bool visit_needs(const dl_phdr_info& object, NeedVisitor visit, void* context);

// A place in the object that holds the address of a function that it needs, and that address:
// in the object itself, where the first call is yet to find it. True ends the walk.
using BindingVisitor = bool (*)(const char* name, uintptr_t bound, void* context);

// Every place that the dynamic linker fills with an address which is needed. True when the visitor
// ended it.
bool visit_bindings(const dl_phdr_info& object, BindingVisitor visit, void* context);

// Whether `object` is linked with the library that is called `name`.
bool needs_object(const dl_phdr_info& object, const char* name);

// Whether `object` has variables of which each thread has its own: what OpenMP's threadprivate and
// C++'s thread_local become.
bool keeps_data_per_thread(const dl_phdr_info& object);

// Whether `address` lies in `object`.
bool holds_address(const dl_phdr_info& object, const void* address);

}  // namespace optile::preload
