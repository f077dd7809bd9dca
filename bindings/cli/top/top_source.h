// What `optile top` asks of the daemon. One thread; blocks until there is an answer or a deadline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

class TopSource {
 public:
  virtual ~TopSource() = default;

  virtual base::Result<Snapshot> look() = 0;
  // Issues a command about a lease. The error is what the daemon answered.
  virtual base::Status issue(const Json& command) = 0;
  // Why a client has its cores, and its longest ops their widths; lines that can be shown.
  virtual base::Result<std::vector<std::string>> explain(const ClientSeen& client) = 0;
};

// Over the daemon's socket. `utf8`: what texts may hold.
std::unique_ptr<TopSource> make_socket_source(std::string socket, bool utf8);

}  // namespace optile::cli
