#include "base/runtime_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"

namespace optile::base {
namespace {

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr const char* kSystemSocket = "/run/optile/optiled.sock";

bool is_own_directory(const std::string& path, uid_t uid) {
  struct stat found {};
  return !path.empty() && stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == uid;
}

}  // namespace

RuntimeEnvironment runtime_environment() {
  RuntimeEnvironment environment;
  // What a launcher around us found is no word of the user's.
  if (environment_value("OPTILE_SOCKET_SOURCE") != "launcher") {
    environment.socket = environment_value("OPTILE_SOCKET");
  }
  environment.xdg_runtime_dir = environment_value("XDG_RUNTIME_DIR");
  environment.system_socket = environment_value("OPTILE_SYSTEM_SOCKET");
  if (environment.system_socket.empty()) environment.system_socket = kSystemSocket;
  environment.uid = geteuid();
  return environment;
}

std::string default_socket_path(const RuntimeEnvironment& environment) {
  if (!environment.socket.empty()) return environment.socket;
  if (is_own_directory(environment.xdg_runtime_dir, environment.uid)) {
    return environment.xdg_runtime_dir + "/optile/optiled.sock";
  }
  return environment.temporary + "/optile-" + std::to_string(environment.uid) + "/optiled.sock";
}

std::string parent_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status ensure_private_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return errno_error(
        "cannot make the runtime directory " + path + "; name another place with --socket", errno);
  }
  const UniqueFd directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    return errno_error("the runtime directory " + path +
                           " is not a plain directory; remove it or name another with --socket",
                       errno);
  }
  struct stat found {};
  if (fstat(directory.get(), &found) != 0) return errno_error("cannot look at " + path, errno);
  if (found.st_uid != geteuid()) {
    return Error{ErrorKind::kDenied, "the runtime directory " + path + " belongs to user " +
                                         std::to_string(found.st_uid) +
                                         "; name another place with --socket"};
  }
  if ((found.st_mode & 077) != 0) {
    return Error{ErrorKind::kDenied, "others can enter the runtime directory " + path +
                                         "; run chmod 700 on it or name another with --socket"};
  }
  return {};
}

Status ensure_system_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0) {
    // Whatever the mask of the process: users have to reach the sockets in it.
    if (chmod(path.c_str(), 0755) != 0) return errno_error("cannot open " + path, errno);
  } else if (errno != EEXIST) {
    return errno_error("cannot make the folder " + path + "; name another socket with --socket",
                       errno);
  }
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return errno_error("cannot look at " + path, errno);
  if (!S_ISDIR(found.st_mode) || (found.st_uid != 0 && found.st_uid != geteuid()) ||
      (found.st_mode & 022) != 0) {
    return Error{ErrorKind::kDenied, "others could put a socket into " + path +
                                         "; it has to belong to root or to this account and to be "
                                         "writable by nobody else"};
  }
  return {};
}

Status check_socket_path(const std::string& path, std::size_t suffix_bytes) {
  if (path.empty()) {
    return Error{ErrorKind::kInvalid, "the socket path is empty; name one with --socket"};
  }
  if (path.size() + suffix_bytes <= kMaxSocketPathBytes) return {};
  return Error{ErrorKind::kInvalid, "the socket path " + path + " has " +
                                        std::to_string(path.size()) + " bytes but only " +
                                        std::to_string(kMaxSocketPathBytes - suffix_bytes) +
                                        " fit into an address; name a shorter one with --socket"};
}

}  // namespace optile::base
