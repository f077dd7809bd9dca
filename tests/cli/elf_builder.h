// Makes small ELF files that say what a test wants: enough for a reader of headers, nothing that
// could be run.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

struct ElfParts {
  std::string interpreter = "/lib64/ld-linux-x86-64.so.2";  // empty: none
  bool dynamic = true;
  std::vector<std::string> needed;
  std::vector<std::string> undefined;
  std::vector<std::string> defined;
};

// The file's bytes.
std::string build_elf(const ElfParts& parts);

inline std::string build_library(std::vector<std::string> needed,
                                 std::vector<std::string> undefined = {},
                                 std::vector<std::string> defined = {}) {
  return build_elf({"", true, std::move(needed), std::move(undefined), std::move(defined)});
}

}  // namespace optile::cli
