// A listening Unix socket at a path: bound under a temporary name and renamed over whatever stale
// file is there, so that a connector meets either nobody or us. Only under the instance lock.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::daemon {

// After an accept that failed, as for want of descriptors.
inline constexpr std::chrono::milliseconds kAcceptRetry{100};

// `type` is SOCK_STREAM or SOCK_SEQPACKET; the socket is non-blocking. Its file has mode 0600, or
// with a group, whose it then is, 0660.
base::Result<base::UniqueFd> listen_at(const std::string& path, int type,
                                       std::optional<unsigned> group = std::nullopt);

}  // namespace optile::daemon
