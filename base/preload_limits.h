// Programs that end where a library built for glibc is preloaded before everything else, told by
// the names in their files. The launcher looks before it starts a program, the shim before that
// program starts another one. Pure, any thread.
#pragma once

#include <string.h>

namespace optile::base {

// The shim's own file, in LD_PRELOAD and beside the launcher.
inline constexpr const char* kShimFile = "liboptile_preload.so";

// What the launcher may preload behind it.
inline constexpr const char* kCompanionFile = "libomp.so.5";

// AddressSanitizer of GCC and of LLVM looks at the order of the libraries and stops the program.
// The other sanitizers' runtimes run behind a preloaded library as well.
inline constexpr const char* kFirstLibraries[] = {"libasan.so", "libclang_rt.asan"};

// `library`: a file's name without its folder; what follows it does not matter.
inline bool must_come_first(const char* library) {
  for (const char* first : kFirstLibraries) {
    if (strncmp(library, first, strlen(first)) == 0) return true;
  }
  return false;
}

// `interpreter`: the dynamic linker that a program asks for. That of musl takes a library that
// needs glibc's functions for a reason to end the program.
inline bool is_musl_loader(const char* interpreter) {
  return strstr(interpreter, "musl") != nullptr;
}

}  // namespace optile::base
