#include "bindings/preload/support/host_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/own_descriptor.h"
#include "bindings/preload/support/uncancelled.h"

namespace optile::preload {
namespace {

constexpr off_t kMostBytes = 1 << 20;  // all programs of a user write to it, and nobody cuts it

// Beyond the limit of files that the user set, a program would be killed for our line.
bool may_grow(int fd, size_t bytes) {
  struct stat there;
  rlimit most;
  if (fstat(fd, &there) != 0 || getrlimit(RLIMIT_FSIZE, &most) != 0) return false;
  const off_t after = there.st_size + static_cast<off_t>(bytes);
  return after <= kMostBytes && static_cast<rlim_t>(after) <= most.rlim_cur;
}

}  // namespace

void log_line(const char* text, const char* detail) {
  static int lines = 0;
  if (environment().log_path[0] == '\0') return;
  if (__atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) >= kMaxLines) return;
  const Uncancelled uncancelled;
  const int fd = beyond_standard(
      open(environment().log_path,
           O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (fd < 0) return;
  char line[512];
  const int size =
      snprintf(line, sizeof line, "%lld pid %d: %s%s%s\n", static_cast<long long>(time(nullptr)),
               static_cast<int>(getpid()), text, detail[0] == '\0' ? "" : ": ", detail);
  const size_t bytes =
      static_cast<size_t>(size) < sizeof line ? static_cast<size_t>(size) : sizeof line - 1;
  if (size > 0 && may_grow(fd, bytes)) {
    // A line that cannot be written is lost; there is nobody to tell.
    [[maybe_unused]] const ssize_t written = write(fd, line, bytes);
  }
  close(fd);
}

}  // namespace optile::preload
