#include "daemon/store/store_file.h"

#include <sys/stat.h>

#include <cstdio>
#include <ctime>

namespace optile::daemon {

void make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);  // a failure shows when the file is opened
  }
}

std::string rename_aside(const std::string& path) {
  std::string aside = path + ".damaged-" + std::to_string(std::time(nullptr));
  if (std::rename(path.c_str(), aside.c_str()) != 0) return "";
  // The journal belongs to the damaged file; a new one must not replay it.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    std::rename((path + suffix).c_str(), (aside + suffix).c_str());
  }
  return aside;
}

}  // namespace optile::daemon
