// Where the daemon's socket lies: one rule for daemon and launcher (the shim follows the same one
// in C). Nothing here connects or binds. Any thread; the environment is read by
// runtime_environment().
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace optile::base {

// Longest path that a Unix socket address holds, without its terminating zero.
inline constexpr std::size_t kMaxSocketPathBytes = 107;

struct RuntimeEnvironment {
  std::string socket;           // OPTILE_SOCKET; empty = unset, or a launcher's and not the user's
  std::string xdg_runtime_dir;  // XDG_RUNTIME_DIR; often set and missing on compute nodes
  std::string system_socket;    // of the system daemon; OPTILE_SYSTEM_SOCKET, for trials, else /run
  std::string temporary = "/tmp";
  uid_t uid = 0;
};
RuntimeEnvironment runtime_environment();

// OPTILE_SOCKET, else $XDG_RUNTIME_DIR/optile/optiled.sock where that folder exists and is ours,
// else /tmp/optile-UID/optiled.sock. Touches nothing.
std::string default_socket_path(const RuntimeEnvironment& environment);

// The part before the last slash; "." without one.
std::string parent_directory(const std::string& path);

// Makes `path` with mode 0755 where it is missing, and refuses one that is a link, or that others
// than root and we can write to: whoever may put a socket there would be the system daemon.
Status ensure_system_directory(const std::string& path);

// Makes `path` with mode 0700 where it is missing, and refuses one that is a link, belongs to
// somebody else, or can be written by others. Its parent has to exist.
Status ensure_private_directory(const std::string& path);

// kInvalid when `path` plus `suffix_bytes` more does not fit into a socket address.
Status check_socket_path(const std::string& path, std::size_t suffix_bytes);

}  // namespace optile::base
