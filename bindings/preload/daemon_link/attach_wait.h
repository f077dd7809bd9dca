// How long the first op or region waits for the daemon's attach reply: the one time that anybody
// waits for the daemon. What it buys is a plan from the first op on; an idle daemon answers within
// about a millisecond, and who has waited in vain looks again at later boundaries.
//
// In slices: where one takes much longer than was asked for, more wants to run than there are
// processors, as when hundreds of programs start together. The attach reply is far away then, and
// waking up costs more than was waited, so that it ends there. The first slice is the connecting
// itself.
#pragma once

#include <stdint.h>

namespace optile::preload {

class FirstWait {
 public:
  static constexpr uint64_t kMostNs = UINT64_C(20000000);
  static constexpr uint64_t kSliceNs = UINT64_C(4000000);
  static constexpr uint64_t kLateNs = UINT64_C(4000000);

  // `now_ns`: on the monotonic clock, before connecting.
  explicit FirstWait(uint64_t now_ns) : begun_ns_(now_ns), due_ns_(now_ns) {}

  // Milliseconds to wait next. 0: no longer, whatever the clock says later.
  int next_ms(uint64_t now_ns) {
    const uint64_t waited = now_ns - begun_ns_;
    if (over_ || waited >= kMostNs || now_ns > due_ns_ + kLateNs) {
      over_ = true;
      return 0;
    }
    const uint64_t left = kMostNs - waited;
    const uint64_t slice = left < kSliceNs ? left : kSliceNs;
    due_ns_ = now_ns + slice;
    return static_cast<int>((slice + UINT64_C(999999)) / UINT64_C(1000000));
  }

 private:
  uint64_t begun_ns_;
  uint64_t due_ns_;  // when the present slice should end
  bool over_ = false;
};

}  // namespace optile::preload
