#include "bindings/cli/run/other_manager.h"

#include <algorithm>
#include <sstream>

#include "base/other_managers.h"

namespace optile::cli {
namespace {

bool is_manager(const std::string& name) {
  return base::is_other_manager(name.c_str());
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
