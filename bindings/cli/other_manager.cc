#include "bindings/cli/other_manager.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace optile::cli {
namespace {

constexpr std::array<std::string_view, 3> kManagers = {"libdlb", "liblikwidpin", "libtcm."};

bool is_manager(const std::string& name) {
  return std::any_of(kManagers.begin(), kManagers.end(),
                     [&](std::string_view manager) { return name.starts_with(manager); });
}

}  // namespace

std::string other_manager(const std::string& preload, const std::vector<std::string>& needed) {
  std::string list = preload;
  std::replace(list.begin(), list.end(), ':', ' ');  // both part the names, for the dynamic linker
  std::istringstream words(list);
  for (std::string word; words >> word;) {
    std::string name = word.substr(word.rfind('/') + 1);
    if (is_manager(name)) return name;
  }
  const auto found = std::find_if(needed.begin(), needed.end(), is_manager);
  return found == needed.end() ? "" : *found;
}

}  // namespace optile::cli
