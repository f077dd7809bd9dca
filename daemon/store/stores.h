// The store of each user: in a daemon of one user one file, in the system daemon a folder with a
// file for each, so that no user reads, outgrows or damages what another one's programs taught.
// Owned by the daemon, its one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "daemon/store/store.h"
#include "daemon/support/rights.h"

namespace optile::daemon {

class Stores {
 public:
  // `where`: the file, or the folder; ":memory:" for nowhere. Nothing is opened yet.
  Stores(std::string where, Rights rights);

  // Opened when it is first asked for, and from then on. Null for a number that stands for many
  // users: nothing is kept for them.
  Store* of(unsigned uid);

 private:
  std::string where_;
  Rights rights_;
  std::map<unsigned, std::unique_ptr<Store>> by_user_;
};

}  // namespace optile::daemon
