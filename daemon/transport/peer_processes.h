// Whether the process behind a connection can be looked at and moved from here. Its pid is the
// kernel's word, but it may be 0 (a pid namespace beside ours), mean nothing in the /proc that we
// see, or by now be another user's process. Such a client is tuned in width and is load of others.
// Owned by the daemon; any thread.
#pragma once

#include <string>

#include "daemon/transport/attach_request.h"

namespace optile::daemon {

class PeerProcesses {
 public:
  explicit PeerProcesses(std::string proc = "/proc") : proc_(std::move(proc)) {}

  // "" when its process can be seen and is its user's; else why not, as half a sentence.
  std::string obstacle(const AttachRequest& attach_request) const;

 private:
  std::string proc_;
};

}  // namespace optile::daemon
