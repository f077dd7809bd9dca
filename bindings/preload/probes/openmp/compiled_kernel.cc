#include "bindings/preload/probes/openmp/compiled_kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/abi/layout.h"
#include "bindings/preload/probes/openmp/known_regions.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

constexpr size_t kDigits = 51;  // of SHA-256 in base 32, cut

// Most regions of a framework are somebody else's, and to ask the linker takes a lock.
PerAddress<bool, 1024> kernels;

bool is_digit(char text) {
  return (text >= 'a' && text <= 'z') || (text >= '2' && text <= '7');
}

bool lies_in_kernel(const void* function) {
  return is_kernel_path(object_of(function));
}

}  // namespace

bool is_kernel_path(const char* path) {
  const char* name = file_name(path);
  // "/ab/" before the name.
  if (name - path < 4 || name[-4] != '/' || name[0] != 'c') return false;
  for (size_t i = 1; i <= kDigits; ++i) {
    if (!is_digit(name[i])) return false;
  }
  if (name[-3] != name[1] || name[-2] != name[2]) return false;
  const char* kind = name + 1 + kDigits;
  return strcmp(kind, ".main.so") == 0 || strcmp(kind, ".so") == 0;
}

bool is_compiled_kernel(const void* function) {
  return kernels.get(function, lies_in_kernel);
}

uint64_t kernel_key(const void* function) {
  // Not the one that it has as a region, where no bridge is at work.
  const uint64_t key = base::hash_word(OPTILE_PROBE_TORCH, region_key(function));
  return key == 0 ? 1 : key;
}

void describe_kernel(const void* function, char name[OPTILE_NAME_BYTES],
                     char shape[OPTILE_SHAPE_BYTES]) {
  snprintf(name, OPTILE_NAME_BYTES, "inductor kernel");
  const ObjectPlace where = place_of(function);
  shape[0] = '\0';
  if (where.path[0] == '\0') return;
  snprintf(shape, OPTILE_SHAPE_BYTES, "%.80s+0x%lx", file_name(where.path),
           static_cast<unsigned long>(where.offset));
}

}  // namespace optile::preload
