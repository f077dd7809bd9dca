// What an ELF file says about itself, read from the file alone and bounds-checked: a program is
// looked at before it is started. 64-bit files of this machine's byte order; others are refused.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace optile::cli {

struct ElfFile {
  std::string interpreter;  // PT_INTERP; empty for libraries and static programs
  bool is_program = false;  // has an entry point of its own
  bool is_dynamic = false;
  std::vector<std::string> needed;  // DT_NEEDED, in order
  std::set<std::string> undefined;  // dynamic symbols it wants from others
  std::set<std::string> defined;    // dynamic symbols it offers
};

// kUndefined: of a library, whose table may have a hundred times as many that it defines.
enum class ElfSymbols { kNone, kUndefined, kAll };

base::Result<ElfFile> read_elf_file(const std::string& path, ElfSymbols symbols);

using SymbolNames = std::set<std::string, std::less<>>;

// Whether the file has a definition of one of these names, for others or for itself; the latter can
// be told only while it is not stripped.
base::Result<bool> elf_defines(const std::string& path, const SymbolNames& names);

// Whether that text is somewhere in the file, of any kind, among its first 64 MiB.
bool file_holds(const std::string& path, std::string_view text);

}  // namespace optile::cli
