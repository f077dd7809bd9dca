#include "daemon/transport/pending_handshakes.h"

#include <algorithm>

namespace optile::daemon {

PendingHandshakes::PendingHandshakes(std::size_t descriptors, bool by_user)
    : most_(std::clamp(descriptors / 4, kFewest, kMost)),
      most_of_user_(by_user ? most_ / 4 * 3 : most_) {}

bool PendingHandshakes::add(unsigned uid) {
  if (count_ >= most_) return false;
  std::size_t& of_user = of_user_[uid];
  if (uid != 0 && of_user >= most_of_user_) return false;
  ++of_user;
  ++count_;
  return true;
}

void PendingHandshakes::remove(unsigned uid) {
  const auto found = of_user_.find(uid);
  if (found == of_user_.end()) return;
  --count_;
  if (--found->second == 0) of_user_.erase(found);
}

}  // namespace optile::daemon
