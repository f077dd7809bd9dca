#include "daemon/transport/instance_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace optile::daemon {

base::Result<std::optional<InstanceLock>> InstanceLock::take(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) {
    return base::errno_error("cannot open the lock " + path + "; name another socket with --socket",
                             errno);
  }
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return std::optional<InstanceLock>();
    return base::errno_error("cannot lock " + path, errno);
  }
  struct stat found {};
  if (fstat(fd.get(), &found) != 0) return base::errno_error("cannot look at " + path, errno);
  return std::optional<InstanceLock>(InstanceLock(std::move(fd), OwnedPath(path, found)));
}

}  // namespace optile::daemon
