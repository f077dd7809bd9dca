// Descriptors of the shim's own. Programs are started without standard input, output or error, and
// write to these numbers all the same: what is ours must not be there. Any thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace optile::preload {

inline constexpr int kFirstOwnDescriptor = 3;

// The same open file under a number that no program takes for a standard one; `fd` where it has
// such a number. -1 where there is none, or `fd` is none.
inline int beyond_standard(int fd) {
  if (fd < 0 || fd >= kFirstOwnDescriptor) return fd;
  const int beyond = fcntl(fd, F_DUPFD_CLOEXEC, kFirstOwnDescriptor);
  close(fd);
  return beyond;
}

}  // namespace optile::preload
