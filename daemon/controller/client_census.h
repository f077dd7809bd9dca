// Who is attached, as numbers: how many of each user, and how often somebody came or left, which
// the others hear of. Kept so that who comes costs the same however many are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace optile::daemon {

class ClientCensus {
 public:
  void came(unsigned uid) {
    ++of_user_[uid];
    ++changes_;
  }
  void left(unsigned uid) {
    const auto found = of_user_.find(uid);
    if (found != of_user_.end() && --found->second == 0) of_user_.erase(found);
    ++changes_;
  }
  std::size_t of_user(unsigned uid) const {
    const auto found = of_user_.find(uid);
    return found == of_user_.end() ? 0 : found->second;
  }
  uint64_t changes() const { return changes_; }

 private:
  std::map<unsigned, std::size_t> of_user_;
  uint64_t changes_ = 0;
};

}  // namespace optile::daemon
