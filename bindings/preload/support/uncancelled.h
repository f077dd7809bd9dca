// While it lives a pending pthread_cancel() waits: connecting, reading and writing are points where
// a thread may be cancelled, and regions and ops are none. Who is cancelled inside one of those
// would leave the program's locks taken, and ours. Around what is slow or rare: a call each way.
#pragma once

#include <pthread.h>

namespace optile::preload {

class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace optile::preload
