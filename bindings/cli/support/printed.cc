#include "bindings/cli/support/printed.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/result.h"
#include "bindings/cli/support/child_process.h"

namespace optile::cli {

int printed(int code) {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (std::cout.good() && flushed && std::ferror(stdout) == 0) return code;
  // Why a write failed that was not the last one is not known any more.
  const std::string what = "the answer cannot be written to standard output";
  std::cerr << "optile: " << (errno != 0 ? base::errno_error(what, errno).message : what) << "\n";
  return kOwnFailure;
}

}  // namespace optile::cli
