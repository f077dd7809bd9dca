// PyTorch as pip installs it, read from its files alone: no Python is run for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace optile::cli {

// A folder `torch` of a wheel, as far as a bridge is concerned.
struct TorchWheel {
  std::string folder;           // .../site-packages/torch
  std::string version;          // 2.13.0+cpu
  bool cxx11_strings = true;    // which of libstdc++'s two strings its symbols are made with
  std::string missing_headers;  // the first that a bridge needs and that is not there; else empty
};

// Whether a folder `torch` has its libraries itself, and not by links as a distribution's has.
bool is_of_wheel(const std::string& folder);

// kNotFound where `folder` is no PyTorch with libraries of its own (a distribution's is not), or
// kInvalid where its version cannot be read.
base::Result<TorchWheel> read_torch_wheel(const std::string& folder);

// Where a Python would import PyTorch from, the first that is there; empty = nowhere, or `python`
// is none. It is the interpreter's path as it was typed, since a virtual environment is told by the
// link. `home` and `python_path` are HOME and PYTHONPATH. The answer is absolute.
std::string find_torch_folder(const std::string& python, const std::string& home,
                              const std::string& python_path);

// Where its libraries are; "" for "".
std::string libraries_of_torch(const std::string& folder);

}  // namespace optile::cli
