#include "daemon/transport/listening_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/runtime_path.h"

namespace optile::daemon {
namespace {

// A start storm: several connections of each launcher, at once. As many as Linux lets wait.
constexpr int kBacklog = 4096;

base::Status bind_at(const base::UniqueFd& fd, const std::string& path) {
  if (base::Status fits = base::check_socket_path(path, 0); !fits.ok()) return fits;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  unlink(path.c_str());  // left behind by a daemon that was killed between bind and rename
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return base::errno_error(
        "cannot bind the socket " + path + "; name a place you can write to with --socket", errno);
  }
  return {};
}

// An unchanged group is not asked for: a service may not be allowed to change any.
bool give_to_group(const std::string& path, unsigned group) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return false;
  return found.st_gid == group || chown(path.c_str(), static_cast<uid_t>(-1), group) == 0;
}

}  // namespace

base::Result<base::UniqueFd> listen_at(const std::string& path, int type,
                                       std::optional<unsigned> group) {
  base::UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::errno_error("cannot make a socket", errno);
  const std::string temporary = base::parent_directory(path) + "/.o" + std::to_string(getpid());
  if (base::Status bound = bind_at(fd, temporary); !bound.ok()) return bound.error();
  // The group comes first: nobody of another one is let in, not even for a moment.
  const bool ours = !group || give_to_group(temporary, *group);
  if (!ours || chmod(temporary.c_str(), group ? 0660 : 0600) != 0 ||
      listen(fd.get(), kBacklog) != 0 || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return base::errno_error("cannot put the socket at " + path + "; name another with --socket",
                             error);
  }
  return fd;
}

}  // namespace optile::daemon
