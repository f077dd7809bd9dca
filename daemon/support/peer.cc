#include "daemon/support/peer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

namespace optile::daemon {
namespace {

constexpr std::size_t kMostGroups = 1024;  // who is in more is asked about the first ones only

std::vector<unsigned> groups_of(int fd) {
  std::vector<unsigned> groups;
#ifdef SO_PEERGROUPS
  std::vector<gid_t> told(kMostGroups);
  socklen_t bytes = static_cast<socklen_t>(told.size() * sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, told.data(), &bytes) != 0) return groups;
  groups.assign(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(gid_t)));
#endif
  return groups;
}

}  // namespace

Peer peer_of(int connected_fd) {
  Peer peer;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(connected_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
      size != sizeof credentials) {
    return peer;
  }
  peer.known = true;
  peer.pid = std::max(0, static_cast<int>(credentials.pid));
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.groups = groups_of(connected_fd);
  return peer;
}

}  // namespace optile::daemon
