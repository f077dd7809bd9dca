// A folder that looks like PyTorch of a wheel, as far as its files tell.
#pragma once

#include <string>

#include "tests/cli/fixtures/elf_builder.h"
#include "tests/cli/fixtures/files.h"

namespace optile::cli {

inline constexpr const char* kNewStrings =
    "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
inline constexpr const char* kOldStrings = "_ZN3c105ErrorC1ENS_14SourceLocationESs";

// `packages`/torch; its path.
inline std::string make_wheel(const std::string& packages,
                              const std::string& version = "2.13.0+cpu",
                              const char* symbol = kNewStrings) {
  const std::string torch = packages + "/torch";
  write_file(torch + "/version.py",
             "from typing import Optional\n\n__all__ = ['__version__', 'debug']\n__version__ = '" +
                 version + "'\ndebug = False\n");
  write_file(torch + "/lib/libtorch_cpu.so", build_library({"libc10.so", "libgomp.so.1"}));
  write_file(torch + "/lib/libc10.so", build_library({}, {}, {symbol}));
  write_file(torch + "/include/ATen/record_function.h", "// fake\n");
  return torch;
}

}  // namespace optile::cli
