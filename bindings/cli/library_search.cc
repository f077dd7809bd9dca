#include "bindings/cli/library_search.h"

#include <filesystem>
#include <sstream>
#include <system_error>

namespace optile::cli {
namespace fs = std::filesystem;

LibrarySearch::LibrarySearch(const std::string& library_path, const std::string& run_path) {
  for (const std::string& folders : {library_path, run_path}) {
    std::istringstream parts(folders);
    for (std::string part; std::getline(parts, part, ':');) {
      if (!part.empty()) folders_.push_back(part);
    }
  }
  for (const char* root : {"/usr/local/lib", "/lib", "/usr/lib", "/lib64", "/usr/lib64"}) {
    std::error_code ignored;
    // Debian's multiarch folders: x86_64-linux-gnu, aarch64-linux-gnu.
    for (const auto& entry : fs::directory_iterator(root, ignored)) {
      if (entry.path().filename().string().ends_with("-linux-gnu")) {
        folders_.push_back(entry.path().string());
      }
    }
    folders_.emplace_back(root);
  }
}

std::string LibrarySearch::find(const std::string& name) const {
  std::error_code ignored;
  for (const std::string& folder : folders_) {
    const fs::path candidate = fs::path(folder) / name;
    if (!fs::exists(candidate, ignored)) continue;
    const fs::path resolved = fs::canonical(candidate, ignored);
    if (!ignored) return resolved.string();
  }
  return "";
}

}  // namespace optile::cli
