// posix_spawn, interposed for the same reasons as exec: its child is started by the C library's own
// system call, so it is looked at here, in the parent, before anything is started. It inherits the
// mask that the calling thread has meanwhile. So do the shells of system and popen, which the C
// library starts past these names.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>

#include "bindings/preload/children/command_file.h"
#include "bindings/preload/children/fitting_environment.h"
#include "bindings/preload/children/next_exec.h"
#include "bindings/preload/children/started_mask.h"

namespace {

using namespace optile::preload;

using SpawnFn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                        const posix_spawnattr_t*, char* const*, char* const*);

template <typename IsHarmed>
int spawn(ExecFunction function, IsHarmed is_harmed, pid_t* pid, const char* program,
          const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
          char* const* arguments, char* const* variables) {
  const auto next = reinterpret_cast<SpawnFn>(next_exec(function));
  if (next == nullptr) return ENOSYS;
  return call_fitting(variables, is_harmed, [=](char* const* changed) {
    StartedMask mask;
    const int error = next(pid, program, actions, attributes, arguments,
                           changed != nullptr ? changed : variables);
    mask.put_back();
    return error;
  });
}

}  // namespace

extern "C" {

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const variables[]) {
  const auto harmed = [=](const char* list) { return is_harmed(AT_FDCWD, path, 0, list); };
  return spawn(kPosixSpawn, harmed, pid, path, actions, attributes, arguments, variables);
}

int posix_spawnp(pid_t* pid, const char* command, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[],
                 char* const variables[]) {
  const auto harmed = [=](const char* list) { return is_harmed_in_path(command, list); };
  return spawn(kPosixSpawnp, harmed, pid, command, actions, attributes, arguments, variables);
}

int system(const char* command) {
  const auto next = reinterpret_cast<int (*)(const char*)>(next_exec(kSystem));
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  StartedMask mask;
  const int result = next(command);
  mask.put_back();
  return result;
}

FILE* popen(const char* command, const char* mode) {
  const auto next = reinterpret_cast<FILE* (*)(const char*, const char*)>(next_exec(kPopen));
  if (next == nullptr) {
    errno = ENOSYS;
    return nullptr;
  }
  StartedMask mask;
  FILE* stream = next(command, mode);
  mask.put_back();
  return stream;
}

}  // extern "C"
