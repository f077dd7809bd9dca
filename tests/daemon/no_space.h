// A disk that is full, as far as this process can tell.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace optile::daemon {

// No byte more can be written to a file: EFBIG here, as good as ENOSPC. The signal that comes with
// it is ignored, as optiled does.
class NoSpace {
 public:
  NoSpace() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~NoSpace() { setrlimit(RLIMIT_FSIZE, &before_); }
  NoSpace(const NoSpace&) = delete;
  NoSpace& operator=(const NoSpace&) = delete;

 private:
  rlimit before_{};
};

}  // namespace optile::daemon
