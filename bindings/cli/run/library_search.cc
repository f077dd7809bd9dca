#include "bindings/cli/run/library_search.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace optile::cli {
namespace fs = std::filesystem;
namespace {

// Most name a file beside them, libx.so.1 → libx.so.1.2.3; others are followed from the root on.
std::string behind_link(const std::string& folder, const std::string& link) {
  std::error_code broken;
  const fs::path target = fs::read_symlink(link, broken);
  struct stat found = {};
  std::string beside = folder + "/" + target.string();
  if (!broken && !target.has_parent_path() && lstat(beside.c_str(), &found) == 0 &&
      S_ISREG(found.st_mode)) {
    return beside;
  }
  const fs::path resolved = fs::canonical(link, broken);
  return broken ? "" : resolved.string();
}

}  // namespace

// Resolved, so that what is found needs no more than a look at itself; each once.
void LibrarySearch::add(const fs::path& folder) {
  std::error_code ignored;
  std::string resolved = fs::canonical(folder, ignored).string();
  if (ignored) resolved = folder.string();  // it may come to be
  if (std::find(folders_.begin(), folders_.end(), resolved) != folders_.end()) return;
  folders_.push_back(resolved);
}

LibrarySearch::LibrarySearch(const std::string& library_path, const std::string& run_path) {
  for (const std::string& folders : {library_path, run_path}) {
    std::istringstream parts(folders);
    for (std::string part; std::getline(parts, part, ':');) {
      if (!part.empty()) add(part);
    }
  }
  for (const char* root : {"/usr/local/lib", "/lib", "/usr/lib", "/lib64", "/usr/lib64"}) {
    std::error_code ignored;
    // Debian's multiarch folders: x86_64-linux-gnu, aarch64-linux-gnu.
    for (const auto& entry : fs::directory_iterator(root, ignored)) {
      if (entry.path().filename().string().ends_with("-linux-gnu")) {
        add(entry.path());
      }
    }
    add(root);
  }
}

std::string LibrarySearch::find(const std::string& name) const {
  for (const std::string& folder : folders_) {
    std::string candidate = folder;
    candidate.append("/").append(name);
    struct stat found = {};
    if (lstat(candidate.c_str(), &found) != 0) continue;
    if (!S_ISLNK(found.st_mode)) return candidate;
    std::string resolved = behind_link(folder, candidate);
    if (!resolved.empty()) return resolved;
  }
  return "";
}

}  // namespace optile::cli
