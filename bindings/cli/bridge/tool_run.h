// Runs a tool (the compiler, a Python) to its end and keeps what it says.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace optile::cli {

struct ToolEnd {
  bool succeeded = false;  // ended with 0
  std::string output;      // standard output and error together; of long ones the begin
};

// Without the shim in it, with nothing on its standard input. Blocks until the tool ends. An error
// where it could not be started.
base::Result<ToolEnd> run_tool(const std::vector<std::string>& command);

}  // namespace optile::cli
