// The program that is to be started, looked at before it is: where it is, what will really be
// loaded, and whether a preloaded library would reach it or break it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/library_search.h"

namespace optile::cli {

struct TargetProgram {
  std::string path;        // what execvp will find
  std::string executable;  // the ELF file that runs: the same, or a script's interpreter
  std::string script;      // what an interpreter runs, for the store's key; else `path`
  std::string unseen;      // why the shim is left out; empty when it can be used
};

// kNotFound or kDenied when execvp would fail with ENOENT or EACCES.
base::Result<TargetProgram> look_at_program(const std::vector<std::string>& command);

// Which BLAS the program would load: openblas-pthread, openblas-openmp, blis, reference, or none.
std::string blas_provider(const LibrarySearch& search);

// LLVM's runtime in place of libgomp: only where it offers every entry point that the program's
// objects ask for. Objects that the program opens later are not known; the shim looks at them
// again.
struct LibompFit {
  std::string path;  // of libomp; empty when it is not installed
  bool suitable = false;
  std::string obstacle;  // for people
};
LibompFit look_for_libomp(const TargetProgram& target, const LibrarySearch& search);

}  // namespace optile::cli
