#include "bindings/preload/runtimes/team_data.h"

#include <link.h>
#include <string.h>

#include "bindings/abi/layout.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"

namespace optile::preload {
namespace {

// Some of them ask as well, and some ask through other names.
constexpr const char* kPresizing[] = {"libdnnl",  "libopenblas",  "libblis",
                                      "libmkl_",  "libatlas",     "libarmpl",
                                      "libtorch", "libflexiblas", "libonnxruntime"};

bool found = false;

int look_at(dl_phdr_info* object, size_t /*size*/, void* caller) {
  if (!holds_address(*object, caller)) return 0;
  // Libraries that fix each team for itself leave nothing in it; a runtime, which may call itself
  // by names that we interpose, has variables of its own kind. A program that the shim is linked
  // into, as tests are, has the shim's.
  const bool is_known = presizes_its_teams(object->dlpi_name) ||
                        runtime_kind(object->dlpi_name) != OPTILE_RUNTIME_UNKNOWN ||
                        holds_address(*object, &found);
  if (keeps_data_per_thread(*object) && !is_known) {
    __atomic_store_n(&found, true, __ATOMIC_RELAXED);
  }
  return 1;
}

}  // namespace

void note_team_of_object(const void* caller) {
  if (!team_keeps_data()) dl_iterate_phdr(look_at, const_cast<void*>(caller));
}

bool team_keeps_data() {
  return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

int width_that_keeps_team(uint32_t kind, int width, int own) {
  const bool ends_threads = width > 1 && width < own && kind == OPTILE_RUNTIME_LIBGOMP;
  return ends_threads && team_keeps_data() ? own : width;
}

bool presizes_its_teams(const char* path) {
  const char* name = file_name(path);
  for (const char* known : kPresizing) {
    if (strncmp(name, known, strlen(known)) == 0) return true;
  }
  return false;
}

}  // namespace optile::preload
