#include "base/daemon_choice.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>

#include "base/unique_fd.h"

namespace optile::base {

int try_connect(const std::string& socket_path) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path.c_str());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return 0;
  return errno == EAGAIN ? 0 : errno;  // it is there, and busy
}

DaemonChoice choose_daemon(const RuntimeEnvironment& environment, const std::string& named,
                           const std::function<int(const std::string&)>& connect) {
  DaemonChoice choice;
  if (!named.empty() || !environment.socket.empty()) {
    choice.socket = named.empty() ? environment.socket : named;
    choice.system = choice.socket == environment.system_socket;
    return choice;
  }
  const int error = connect(environment.system_socket);
  if (error == 0) {
    choice.socket = environment.system_socket;
    choice.system = true;
    return choice;
  }
  if (error == EACCES || error == EPERM) {
    choice.obstacle = "the system daemon at " + environment.system_socket +
                      " does not let you in (ls -l shows the group that it serves); your own "
                      "daemon is used, which knows nothing of the programs of others";
  }
  choice.socket = default_socket_path(environment);
  return choice;
}

}  // namespace optile::base
