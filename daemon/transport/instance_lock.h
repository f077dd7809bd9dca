// One daemon per socket: an flock on a file beside it, which the kernel frees on any death. The
// file itself stays, unless somebody removes it: then the next daemon locks another one, and who
// holds this one is no longer the one at the path. Owned by the daemon for its whole life.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/support/owned_path.h"

namespace optile::daemon {

class InstanceLock {
 public:
  // nullopt when another daemon holds it; an error when the file cannot be opened.
  static base::Result<std::optional<InstanceLock>> take(const std::string& path);
  OwnedPath::Place look() const { return file_.look(); }

 private:
  InstanceLock(base::UniqueFd fd, OwnedPath file) : fd_(std::move(fd)), file_(std::move(file)) {}
  base::UniqueFd fd_;
  OwnedPath file_;
};

}  // namespace optile::daemon
