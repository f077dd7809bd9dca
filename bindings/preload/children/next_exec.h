// The functions behind ours that start programs: the C library's, or those of a library that was
// preloaded behind the shim.
#pragma once

namespace optile::preload {

enum ExecFunction : unsigned {
  kExecv,
  kExecve,
  kExecvp,
  kExecvpe,
  kFexecve,
  kExecveat,
  kPosixSpawn,
  kPosixSpawnp,
  kSystem,
  kPopen,
  kExecFunctions,
};

// Null where there is none; any thread, also between vfork and exec. Known from the shim's
// constructor on; libraries that are set up before it ask the dynamic linker each time.
void* next_exec(ExecFunction function);

}  // namespace optile::preload
