// Where the dynamic linker would find a library, near enough for questions that are asked before a
// program starts: LD_LIBRARY_PATH, then the distribution's folders. No assumption about the
// processor: the folders are looked up.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace optile::cli {

class LibrarySearch {
 public:
  // `library_path` is LD_LIBRARY_PATH as the program will see it; `run_path`, folders that its
  // objects name themselves, is looked in after it. Both are separated by colons.
  explicit LibrarySearch(const std::string& library_path, const std::string& run_path = "");

  // Full path, symbolic links resolved; empty when there is none.
  std::string find(const std::string& name) const;

 private:
  void add(const std::filesystem::path& folder);

  std::vector<std::string> folders_;
};

}  // namespace optile::cli
