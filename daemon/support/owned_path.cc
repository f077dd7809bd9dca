#include "daemon/support/owned_path.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace optile::daemon {
namespace {

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

OwnedPath::OwnedPath(std::string path) : path_(std::move(path)) {
  if (lstat(path_.c_str(), &found_) != 0) found_ = {};
}

OwnedPath::OwnedPath(std::string path, const struct stat& found)
    : path_(std::move(path)), found_(found) {}

OwnedPath::Place OwnedPath::look() const {
  struct stat now {};
  if (lstat(path_.c_str(), &now) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Place::kMissing : Place::kOurs;
  }
  return is_same(now, found_) ? Place::kOurs : Place::kAnothers;
}

void OwnedPath::remove() const {
  struct stat now {};
  if (lstat(path_.c_str(), &now) == 0 && is_same(now, found_)) unlink(path_.c_str());
}

}  // namespace optile::daemon
