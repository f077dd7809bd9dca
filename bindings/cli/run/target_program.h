// The program that is to be started, looked at before it is: where it is, what will really be
// loaded, and whether a preloaded library would reach it or break it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/run/library_search.h"

namespace optile::cli {

struct TargetProgram {
  std::string path;  // what execvp will find
  // The ELF file that runs: the same, a script's interpreter, or what a wrapper script becomes.
  std::string executable;
  std::string script;  // what an interpreter runs, else the executable: the store's key
  std::string unseen;  // why the shim is left out; empty when it can be used
  // Why regions of its own cannot be seen, though the shim can be used; mostly empty.
  std::string hidden_regions;
  std::vector<std::string> needed;  // what the executable is linked with, by name
};

// kNotFound or kDenied when execvp would fail with ENOENT or EACCES.
base::Result<TargetProgram> look_at_program(const std::vector<std::string>& command);

// What the program's objects bring, as far as can be seen: those that it is linked with and, for a
// Python, PyTorch where it would be imported from. Objects that the program opens later are not
// known; the shim looks at them again.
struct ProgramObjects {
  bool uses_openmp = false;  // an object needs libgomp
  bool has_pytorch = false;
  bool marks_ops = false;                 // by annotations in its executable, where it uses OpenMP
  std::set<std::string> openmp_runtimes;  // that objects are linked with: libgomp.so.1, libomp.so.5
  std::string torch_core;                 // PyTorch's library of operators, by name
  std::string blas_provider;  // openblas-pthread, openblas-openmp, blis, reference, or none
  std::string libomp_path;    // LLVM's runtime; empty when it is not installed
  // It offers every entry point that the objects ask of libgomp; else why not, for people.
  bool libomp_suitable = false;
  std::string libomp_obstacle;
};
// `torch_folder` is where find_torch_folder (bridge/torch_wheel.h) found PyTorch, empty = nowhere.
ProgramObjects look_at_objects(const TargetProgram& target, const LibrarySearch& search,
                               const std::string& torch_folder);

}  // namespace optile::cli
