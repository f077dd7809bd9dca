// Core seconds that were lent, from how many cores are lent from when on. Plain values; the
// daemon's one thread.
#pragma once

#include <algorithm>
#include <chrono>

namespace optile::daemon {

class CoreSecondsCounter {
 public:
  using Time = std::chrono::milliseconds;

  // So many from now on; `now` never goes back.
  void note(int cores, Time now) {
    seconds_ = seconds(now);
    cores_ = cores;
    since_ = now;
  }
  double seconds(Time now) const {
    const std::chrono::duration<double> passed = std::max(now, since_) - since_;
    return seconds_ + cores_ * passed.count();
  }

 private:
  double seconds_ = 0;
  int cores_ = 0;
  Time since_{0};
};

}  // namespace optile::daemon
