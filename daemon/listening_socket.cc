#include "daemon/listening_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/runtime_path.h"

namespace optile::daemon {
namespace {

constexpr int kBacklog = 256;

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

}  // namespace

base::Result<base::UniqueFd> listen_at(const std::string& path, int type) {
  base::UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::errno_error("cannot make a socket", errno);
  const std::string temporary = base::parent_directory(path) + "/.o" + std::to_string(getpid());
  if (base::Status bound = bind_at(fd, temporary); !bound.ok()) return bound.error();
  if (chmod(temporary.c_str(), 0600) != 0 || listen(fd.get(), kBacklog) != 0 ||
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return base::errno_error("cannot put the socket at " + path + "; name another with --socket",
                             error);
  }
  return fd;
}

Peer peer_of(int connected_fd) {
  Peer peer;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(connected_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
      size != sizeof credentials) {
    return peer;
  }
  peer.pid = std::max(0, static_cast<int>(credentials.pid));
  peer.uid = credentials.uid;
  peer.allowed = credentials.uid == geteuid() || credentials.uid == 0;
  return peer;
}

}  // namespace optile::daemon
