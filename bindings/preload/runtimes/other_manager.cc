#include "bindings/preload/runtimes/other_manager.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "base/other_managers.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/host_log.h"
#include "bindings/preload/support/stepped_aside.h"

namespace optile::preload {
namespace {

unsigned long long objects_seen = 0;  // that were ever loaded, at the last look

struct Look {
  unsigned long long objects = 0;
  char found[64] = "";
};

int look_at(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* look = static_cast<Look*>(to);
  look->objects = object->dlpi_adds;
  if (look->objects == objects_seen) return 1;
  const char* name = file_name(object->dlpi_name);
  if (!base::is_other_manager(name)) return 0;
  const size_t length = strnlen(name, sizeof look->found - 1);
  memcpy(look->found, name, length);
  look->found[length] = '\0';
  return 0;
}

}  // namespace

bool notice_other_manager() {
  if (stepped_aside()) return false;
  Look look;
  dl_iterate_phdr(look_at, &look);
  objects_seen = look.objects;
  if (look.found[0] == '\0') return false;
  step_aside();
  log_line("it says how many threads there are and where; optile only watches", look.found);
  return true;
}

}  // namespace optile::preload
