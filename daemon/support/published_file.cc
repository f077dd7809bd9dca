#include "daemon/support/published_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/unique_fd.h"

namespace optile::daemon {
namespace {

base::Status write_all(const base::UniqueFd& fd, const std::string& text, const std::string& path) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = write(fd.get(), text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return base::errno_error("cannot write " + path, errno);
    written += static_cast<std::size_t>(now);
  }
  return {};
}

}  // namespace

base::Status publish_file(const std::string& path, const std::string& text, mode_t mode) {
  // node_exporter reads what ends in .prom: this does not.
  const std::string temporary = path + ".new" + std::to_string(getpid());
  unlink(temporary.c_str());
  const base::UniqueFd fd(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return base::errno_error("cannot make " + temporary, errno);
  base::Status done = write_all(fd, text, temporary);
  // The umask of the daemon keeps everything private.
  if (done.ok() && fchmod(fd.get(), mode) != 0) {
    done = base::errno_error("cannot set the mode of " + temporary, errno);
  }
  if (done.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    done = base::errno_error("cannot put " + path + " into place", errno);
  }
  if (!done.ok()) unlink(temporary.c_str());
  return done;
}

bool is_file_of_ours(const std::string& path) {
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

}  // namespace optile::daemon
