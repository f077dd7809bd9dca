// A listening TCP socket that only this machine can reach. TCP does not tell who asks, so nothing
// but metrics may be served there.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::daemon {

struct LoopbackAddress {
  bool v6 = false;
  uint16_t port = 0;  // 0 = any free one
};

// "127.0.0.1:9464", "[::1]:0" or "localhost:9464". Any other address is an error: it would show
// this user's programs to the network.
base::Result<LoopbackAddress> parse_loopback(const std::string& text);

struct LoopbackListener {
  base::UniqueFd fd;   // non-blocking
  std::string target;  // "127.0.0.1:9464", with the real port
};
base::Result<LoopbackListener> listen_on_loopback(const LoopbackAddress& address);

}  // namespace optile::daemon
