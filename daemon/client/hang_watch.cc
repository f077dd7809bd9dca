#include "daemon/client/hang_watch.h"

#include <algorithm>

namespace optile::daemon {

bool hangs(perfmodel::Nanoseconds open, perfmodel::Nanoseconds usual) {
  return open > std::max<perfmodel::Nanoseconds>(kLeastHang, kHangTimes * usual);
}

}  // namespace optile::daemon
