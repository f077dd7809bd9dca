#include "base/control_group_folders.h"

#include <sstream>

#include "base/text_file.h"

namespace optile::base {
namespace {

// The folder of a group and those above it, up to the mount.
void add_levels(const std::string& mount, std::string path, bool unified,
                std::vector<ControlGroupFolder>& folders) {
  for (;;) {
    folders.push_back({mount + path, unified});
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty()) return;
    path.resize(slash);
  }
}

}  // namespace

std::vector<ControlGroupFolder> control_group_folders(const std::string& root, int pid,
                                                      const std::string& controller) {
  const std::string process = pid == 0 ? "self" : std::to_string(pid);
  const std::string mounted = root + "/sys/fs/cgroup";
  const std::string trees = mounted + "/";
  std::vector<ControlGroupFolder> folders;
  // "0::/path" (version 2) and "4:cpu,cpuacct:/path" (version 1).
  std::istringstream lines(read_text_file(root + "/proc/" + process + "/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      add_levels(mounted, path, true, folders);
      add_levels(mounted + "/unified", path, true, folders);
      continue;
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      if (name != controller) continue;
      add_levels(trees + controller, path, false, folders);
      if (controllers != controller) add_levels(trees + controllers, path, false, folders);
    }
  }
  return folders;
}

}  // namespace optile::base
