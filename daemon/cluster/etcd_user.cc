#include "daemon/cluster/etcd_user.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kMaxUserBytes = 1024;

}  // namespace

base::Result<EtcdUser> read_etcd_user(const std::string& path) {
  // Of a pipe nobody is waited for.
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!fd.valid()) return base::errno_error("cannot open the file with etcd's user " + path, errno);
  struct stat found {};
  if (fstat(fd.get(), &found) != 0) return base::errno_error("cannot look at " + path, errno);
  const bool ours = found.st_uid == geteuid() || found.st_uid == 0;
  if (!S_ISREG(found.st_mode) || !ours || (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return base::Error{base::ErrorKind::kDenied,
                       path +
                           " holds a password: it has to be a file of yours that nobody else "
                           "may read; chmod 600 " +
                           path};
  }
  char bytes[kMaxUserBytes];
  const ssize_t got = read(fd.get(), bytes, sizeof bytes);
  if (got < 0) return base::errno_error("cannot read " + path, errno);
  std::string line(bytes, static_cast<std::size_t>(got));
  line.resize(std::min(line.find('\n'), line.size()));
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == line.size()) {
    return base::invalid(path + " has to hold one line: NAME:PASSWORD");
  }
  return EtcdUser{line.substr(0, colon), line.substr(colon + 1)};
}

}  // namespace optile::daemon
