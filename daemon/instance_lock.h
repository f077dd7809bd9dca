// One daemon per socket: an flock on a file beside it, which the kernel frees on any death. The
// file itself stays. Owned by the daemon for its whole life.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace optile::daemon {

class InstanceLock {
 public:
  // nullopt when another daemon holds it; an error when the file cannot be opened.
  static base::Result<std::optional<InstanceLock>> take(const std::string& path);

 private:
  explicit InstanceLock(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace optile::daemon
