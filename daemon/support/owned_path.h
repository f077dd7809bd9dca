// A file that we put at a path: whether it is still the one that is found there. A user's folder of
// sockets is removed when he logs out, and whoever starts later puts files of his own there.
#pragma once

#include <sys/stat.h>

#include <string>

namespace optile::daemon {

// Known by its number, so it has to be held: open, or bound by a socket that is. Else the number
// may be another file's one day.
class OwnedPath {
 public:
  enum class Place { kOurs, kMissing, kAnothers };

  // What lies at `path` now.
  explicit OwnedPath(std::string path);
  // The file that `found` tells of, which was opened at `path`.
  OwnedPath(std::string path, const struct stat& found);

  // kOurs also where that cannot be told: who cannot look has not lost it.
  Place look() const;
  // Only if it is still ours.
  void remove() const;

 private:
  std::string path_;
  struct stat found_ {};
};

}  // namespace optile::daemon
