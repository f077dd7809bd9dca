#include "daemon/client/hang_detector.h"

#include <algorithm>

namespace optile::daemon {

bool hangs(perfmodel::Nanoseconds open, perfmodel::Nanoseconds usual) {
  return open > std::max<perfmodel::Nanoseconds>(kLeastHang, kHangTimes * usual);
}

}  // namespace optile::daemon
