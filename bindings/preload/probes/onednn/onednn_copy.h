// A copy of oneDNN: the functions of its C interface that say what a primitive is. Version 2 and 3
// differ in how a memory descriptor is read; the numbers of the queries are the same in both.
#pragma once

#include <stdint.h>

namespace optile::preload {

struct OneDnnCopy {
  using Query = int (*)(const void* descriptor, int what, int index, void* result);
  using QueryMemory = const void* (*)(const void* descriptor, int what, int index);
  using ReadMemory = int (*)(const void* memory, int what, void* result);
  using DescriptorOf = int (*)(const void* primitive, const void** descriptor);
  using NameOf = const char* (*)(int value);

  Query query = nullptr;
  QueryMemory query_memory = nullptr;
  ReadMemory read_memory = nullptr;  // version 3; version 2 has the descriptor in the open
  DescriptorOf descriptor_of = nullptr;
  NameOf kind_name = nullptr;
  NameOf propagation_name = nullptr;
  NameOf type_name = nullptr;
  const void* set_num_threads = nullptr;  // of the OpenMP that it runs on; null where on no OpenMP

  bool readable() const {
    return query != nullptr && query_memory != nullptr && kind_name != nullptr;
  }
};

// The copy that holds the function `inside`. Any thread; slow once for each function.
OneDnnCopy onednn_copy_of(const void* inside);

// Whether that copy takes its width from the steered runtime. Where none is steered yet, its own is
// from now on.
bool onednn_follows_steered_width(const void* inside);

}  // namespace optile::preload
