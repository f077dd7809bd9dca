#include "bindings/preload/children/file_locks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace optile::preload {
namespace {

constexpr size_t kBlockBytes = 1024;
constexpr int kMostBlocks = 64;

// What stands in a line between the device and the range, with a colon before and a blank behind.
size_t put_inode(char* to, ino_t inode) {
  char digits[24];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + inode % 10);
    inode /= 10;
  } while (inode > 0);
  *to++ = ':';
  for (size_t i = count; i-- > 0;) *to++ = digits[i];
  *to = ' ';
  return count + 2;
}

bool names(const char* line, size_t length, const char* part, size_t bytes) {
  return memmem(line, length, part, bytes) != nullptr;
}

}  // namespace

__attribute__((noinline)) bool has_posix_lock(const char* path, ino_t inode) {
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) return false;
  char wanted[32];
  const size_t wanted_bytes = put_inode(wanted, inode);
  char block[kBlockBytes];
  size_t filled = 0;
  bool found = false;
  for (int i = 0; i < kMostBlocks && !found; ++i) {
    const long got = syscall(SYS_read, fd, block + filled, sizeof block - filled);
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
    const char* line = block;
    const char* const end = block + filled;
    while (const void* stop = memchr(line, '\n', static_cast<size_t>(end - line))) {
      const auto length = static_cast<size_t>(static_cast<const char*>(stop) - line);
      found =
          found || (names(line, length, " POSIX ", 7) && names(line, length, wanted, wanted_bytes));
      line = static_cast<const char*>(stop) + 1;
    }
    filled = static_cast<size_t>(end - line);
    if (filled == sizeof block) break;  // no such line
    memmove(block, line, filled);
  }
  syscall(SYS_close, fd);
  return found;
}

}  // namespace optile::preload
