// What pins and pauses of one user may keep from the others in the system daemon: all together an
// even part of the cores, also after somebody else has come. Commands of root and admins are not
// counted. Owned by the lease commands; the daemon's one thread.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/result.h"
#include "daemon/leases/leases.h"

namespace optile::daemon {

class UserBounds {
 public:
  // Whether this client may hold so many cores by a command of its user. kUnavailable, with the
  // number that it could hold.
  base::Status check(const Leases& leases, uint64_t client, std::size_t cores) const;
  // It holds its lease by such a command from now on, or no longer.
  void note(uint64_t client) { holding_.insert(client); }
  void forget(uint64_t client) { holding_.erase(client); }
  // Whose commands are to be revoked, because their user now holds more than his part: newest
  // clients first.
  std::vector<uint64_t> beyond(const Leases& leases) const;

 private:
  std::set<uint64_t> holding_;
};

// Of so many cores, for each of so many users; at least one.
std::size_t even_part(int cores, std::size_t users);

}  // namespace optile::daemon
