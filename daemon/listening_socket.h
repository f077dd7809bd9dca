// A listening Unix socket at a path: bound under a temporary name and renamed over whatever stale
// file is there, so that a connector meets either nobody or us. Only under the instance lock.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::daemon {

// `type` is SOCK_STREAM or SOCK_SEQPACKET; the socket is non-blocking and its file has mode 0600.
base::Result<base::UniqueFd> listen_at(const std::string& path, int type);

// May this peer talk to us? Its user is ours or root; no credentials mean no. The pid is 0 when the
// peer lives in another pid namespace.
struct Peer {
  bool allowed = false;
  int pid = 0;
  unsigned uid = 0;
};
Peer peer_of(int connected_fd);

}  // namespace optile::daemon
