#include "bindings/preload/children/next_exec.h"

#include <dlfcn.h>

namespace optile::preload {
namespace {

constexpr const char* kNames[kExecFunctions] = {
    "execv",    "execve",      "execvp",       "execvpe", "fexecve",
    "execveat", "posix_spawn", "posix_spawnp", "system",  "popen"};

void* found[kExecFunctions];
bool known = false;

}  // namespace

void* next_exec(ExecFunction function) {
  const bool asked = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  return asked ? found[function] : dlsym(RTLD_NEXT, kNames[function]);
}

// In a child of vfork nobody may ask the dynamic linker any more.
__attribute__((constructor)) static void find_next_functions() {
  for (unsigned i = 0; i < kExecFunctions; ++i) found[i] = dlsym(RTLD_NEXT, kNames[i]);
  __atomic_store_n(&known, true, __ATOMIC_RELEASE);
  dlerror();  // execveat came late; that it is missing is nothing for the program to find
}

}  // namespace optile::preload
