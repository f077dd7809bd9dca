// Who etcd is told that we are, where it asks. Pure but for reading the file; any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace optile::daemon {

struct EtcdUser {
  std::string name;
  std::string password;
};

// From a file with one line, NAME:PASSWORD. Refused unless it is a file of ours (or root's) that
// nobody else may read: mode 0600 or less.
base::Result<EtcdUser> read_etcd_user(const std::string& path);

}  // namespace optile::daemon
