#include "bindings/preload/support/old_libc.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static_assert(sizeof(void*) == 8, "the kernel's struct stat is the C library's on 64-bit machines");

extern "C" {

int stat(const char* path, struct stat* found) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, found, 0));
}

int lstat(const char* path, struct stat* found) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW));
}

int fstat(int fd, struct stat* found) noexcept {
  return static_cast<int>(syscall(SYS_fstat, fd, found));
}
}
