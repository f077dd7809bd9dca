#include "bindings/preload/children/command_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bindings/preload/children/file_locks.h"
#include "bindings/preload/children/preload_variable.h"
#include "bindings/preload/children/program_file.h"

namespace optile::preload {
namespace {

constexpr int kMostInterpreters = 5;  // the kernel's own limit

// A pipe or a device would notice that it is opened, and so would who has locked the file. Programs
// with the rights of others are not reached: the dynamic linker ignores the list there.
bool may_be_opened(int folder, const char* path, int flags) {
  struct stat found;
  return syscall(SYS_newfstatat, folder, path, &found, flags & AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(found.st_mode) && (found.st_mode & (S_ISUID | S_ISGID)) == 0 &&
         !holds_posix_lock(found.st_dev, found.st_ino);
}

int open_program(int folder, const char* path, int flags) {
  if (!may_be_opened(folder, path, flags)) return -1;
  return static_cast<int>(
      syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

// What execvp would not go past.
bool can_be_executed(const char* path) {
  struct stat found;
  return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0 &&
         syscall(SYS_newfstatat, AT_FDCWD, path, &found, 0) == 0 && S_ISREG(found.st_mode);
}

size_t longest_part(const char* folders) {
  size_t longest = 0;
  for (const char* folder = folders;; ++folder) {
    const size_t length = strcspn(folder, ":");
    if (length > longest && length < PATH_MAX) longest = length;  // what is longer is no path
    folder += length;
    if (*folder == '\0') return longest;
  }
}

// The first that can be executed, in the folders of `folders`. `path` has `room` for all that are
// tried.
bool search(const char* folders, const char* command, size_t name, char* path, size_t room) {
  for (const char* folder = folders;; ++folder) {
    const size_t length = strcspn(folder, ":");
    if (length + name + 2 <= room) {
      memcpy(path, folder, length);
      path[length] = '/';
      // An empty one is where we are.
      memcpy(path + length + (length > 0 ? 1 : 0), command, name + 1);
      if (can_be_executed(path)) return true;
    }
    folder += length;
    if (*folder == '\0') return false;
  }
}

void put_number(char* to, int number) {
  char digits[12];
  int count = 0;
  for (int rest = number; count == 0 || rest > 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
}

}  // namespace

// The frames of these are gone before the real function is called.
__attribute__((noinline)) bool is_harmed(int folder, const char* path, int flags,
                                         const char* list) {
  const bool first_is_taken = takes_the_first_place(list);
  char interpreter[kInterpreterBytes];
  for (int i = 0; i < kMostInterpreters; ++i) {
    const int fd = open_program(folder, path, flags);
    if (fd < 0) return false;
    const Bearing bearing = look_at_program(fd, first_is_taken, interpreter);
    syscall(SYS_close, fd);
    if (bearing != Bearing::kScript) return bearing == Bearing::kDies;
    folder = AT_FDCWD;
    path = interpreter;
    flags = 0;
  }
  return false;
}

__attribute__((noinline)) bool is_harmed_in_path(const char* command, const char* list) {
  if (command[0] == '\0') return false;
  if (strchr(command, '/') != nullptr) return is_harmed(AT_FDCWD, command, 0, list);
  const size_t name = strnlen(command, NAME_MAX + 1);
  if (name > NAME_MAX) return false;
  const char* folders = getenv("PATH");
  // Without one: what glibc searches then.
  if (folders == nullptr) folders = "/bin:/usr/bin";
  // As much as glibc's own search takes, and no more: it may run on a signal's stack.
  const size_t room = longest_part(folders) + name + 2;
  auto* path = static_cast<char*>(__builtin_alloca(room));
  return search(folders, command, name, path, room) && is_harmed(AT_FDCWD, path, 0, list);
}

__attribute__((noinline)) bool is_harmed_descriptor(int fd, const char* list) {
  if (fd < 0) return false;
  // Opened anew: this one may not be readable, and its position is its owner's.
  char path[sizeof "/proc/self/fd/" + 12] = "/proc/self/fd/";
  put_number(path + strlen(path), fd);
  return is_harmed(AT_FDCWD, path, 0, list);
}

}  // namespace optile::preload
