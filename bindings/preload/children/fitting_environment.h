// The environment that a started program gets: the one that was handed over, or, for a program that
// would not survive us, the same without us.
#pragma once

#include <errno.h>
#include <string.h>

#include "bindings/preload/children/preload_variable.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {

// `call` gets the changed environment, on this frame's stack.
template <typename Call>
__attribute__((noinline)) int call_without_shim(char* const* variables,
                                                const PreloadVariable& preload, Call call) {
  constexpr size_t kName = sizeof "LD_PRELOAD=" - 1;
  char variable[kName + kMaxPreloadBytes];
  memcpy(variable, "LD_PRELOAD=", kName);
  char* list = variable + kName;
  put_without_shim(list, preload.list, environment().preloaded_openmp);
  // At most 64 KiB: the C library itself puts a program's arguments there.
  auto** changed = static_cast<char**>(__builtin_alloca((preload.variables + 1) * sizeof(char*)));
  put_environment(changed, variables, preload, variable, list[0] == '\0');
  return call(changed);
}

// `is_harmed` is asked with LD_PRELOAD's list. `call` gets null where nothing is to be changed:
// then it has to do what was asked for, with errno as it was.
template <typename IsHarmed, typename Call>
int call_fitting(char* const* variables, IsHarmed is_harmed, Call call) {
  const int kept_errno = errno;
  PreloadVariable preload;
  const bool harmed = find_shim_in(variables, &preload) && is_harmed(preload.list);
  errno = kept_errno;
  return harmed ? call_without_shim(variables, preload, call) : call(nullptr);
}

}  // namespace optile::preload
