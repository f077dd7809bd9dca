#include "bindings/cli/support/sibling_program.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "base/result.h"
#include "bindings/cli/run/daemon_start.h"
#include "bindings/cli/support/child_process.h"

namespace optile::cli {

bool is_about_placement(Verb verb) {
  return verb == Verb::kPlace || verb == Verb::kPlaceStrategy || verb == Verb::kPlaceNetwork ||
         verb == Verb::kTrainPolicy || verb == Verb::kAssistDevices || verb == Verb::kCompare ||
         verb == Verb::kParallelism || verb == Verb::kSplit;
}

int become_sibling(const char* name, char** argv) {
  const std::string tool = own_folder() + "/" + name;
  execv(tool.c_str(), argv);
  std::cerr << "optile: "
            << base::errno_error(tool + " cannot be started; build or install optile as a whole",
                                 errno)
                   .message
            << "\n";
  return kOwnFailure;
}

}  // namespace optile::cli
