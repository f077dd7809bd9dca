#include "bindings/preload/children/file_locks.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace optile::preload {
namespace {

// The calling thread's, which may have unshared its descriptors from the others'.
constexpr char kDescriptors[] = "/proc/thread-self/fd";
constexpr char kDescriptions[] = "/proc/thread-self/fdinfo/";

constexpr size_t kBlockBytes = 512;
constexpr size_t kTextBytes = 256;
constexpr int kMostDescriptors = 512;
constexpr int kMostTexts = 256;  // of one description: many ranges may be locked

// As getdents64 writes them.
struct Entry {
  uint64_t inode;
  int64_t offset;
  uint16_t bytes;
  uint8_t type;
  char name[1];
};

int open_to_read(const char* path) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

// Below 0: no number.
int number_in(const char* name) {
  int number = 0;
  for (; *name >= '0' && *name <= '9' && number < 100'000'000; ++name) {
    number = 10 * number + (*name - '0');
  }
  return *name == '\0' ? number : -1;
}

// As far as it is known here: what lies on another machine, or in a process that is asked by the
// kernel, may not answer.
bool is_of(int fd, dev_t device, ino_t inode) {
  struct statx found;
  return syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &found) == 0 &&
         found.stx_ino == inode && makedev(found.stx_dev_major, found.stx_dev_minor) == device;
}

// There the kernel lists, of locks of this kind, those of this very table of descriptors alone.
__attribute__((noinline)) bool tells_of_lock(const char* description) {
  constexpr char kWord[] = " POSIX ";
  constexpr size_t kWordBytes = sizeof kWord - 1;
  const int fd = open_to_read(description);
  if (fd < 0) return false;
  char text[kTextBytes];
  size_t kept = 0;  // the end of the text before: the word may lie across
  bool found = false;
  for (int i = 0; i < kMostTexts && !found; ++i) {
    const long got = syscall(SYS_read, fd, text + kept, sizeof text - kept);
    if (got <= 0) break;
    const size_t filled = kept + static_cast<size_t>(got);
    found = memmem(text, filled, kWord, kWordBytes) != nullptr;
    kept = filled < kWordBytes ? filled : kWordBytes;
    memmove(text, text + filled - kept, kept);
  }
  syscall(SYS_close, fd);
  return found;
}

bool holds_by(const char* descriptor) {
  char path[sizeof kDescriptions + 12];
  const size_t length = strnlen(descriptor, 12);
  memcpy(path, kDescriptions, sizeof kDescriptions - 1);
  memcpy(path + sizeof kDescriptions - 1, descriptor, length);
  path[sizeof kDescriptions - 1 + length] = '\0';
  return tells_of_lock(path);
}

}  // namespace

__attribute__((noinline)) bool holds_posix_lock(dev_t device, ino_t inode) {
  const int folder = static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, kDescriptors, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (folder < 0) return false;
  alignas(Entry) char block[kBlockBytes];
  int left = kMostDescriptors;
  bool found = false;
  while (!found && left > 0) {
    const long got = syscall(SYS_getdents64, folder, block, sizeof block);
    if (got <= 0) break;
    for (long at = 0; at < got && !found; --left) {
      const auto* entry = reinterpret_cast<const Entry*>(block + at);
      at += entry->bytes;
      const int fd = number_in(entry->name);
      found = fd >= 0 && is_of(fd, device, inode) && holds_by(entry->name);
    }
  }
  syscall(SYS_close, folder);
  return found;
}

}  // namespace optile::preload
