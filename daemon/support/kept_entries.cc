#include "daemon/support/kept_entries.h"

#include <unistd.h>

#include <fstream>

#include "daemon/support/published_file.h"

namespace optile::daemon {

bool read_kept_entries(const std::string& file,
                       const std::function<void(const nlohmann::json&)>& take) {
  if (!is_file_of_ours(file)) return true;
  std::ifstream stream(file);
  const nlohmann::json read = nlohmann::json::parse(stream, nullptr, false);
  if (!read.is_array()) return true;
  try {
    for (const nlohmann::json& one : read) take(one);
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  return true;
}

void write_kept_entries(const std::string& file, const nlohmann::json& all) {
  if (all.empty()) {
    unlink(file.c_str());
  } else {
    (void)publish_file(file, all.dump(), kForTheNextDaemon);
  }
}

}  // namespace optile::daemon
