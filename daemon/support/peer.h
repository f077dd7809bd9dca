// Who is at the other end of a Unix socket, as the kernel says it; nothing that a peer says itself.
// Plain value.
#pragma once

#include <vector>

namespace optile::daemon {

struct Peer {
  bool known = false;  // the kernel said nothing: no credentials mean no
  int pid = 0;         // when it connected; 0: in a pid namespace that is not below ours
  unsigned uid = 0;
  unsigned gid = 0;
  std::vector<unsigned> groups;  // supplementary ones; none where the kernel does not tell
};

// Of the process that connected, or that made the socket pair.
Peer peer_of(int connected_fd);

}  // namespace optile::daemon
