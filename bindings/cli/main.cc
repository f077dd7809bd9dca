// `optile`: starts programs, and becomes `optile-tool` for everything else.
#include <cstdio>
#include <exception>

#include "bindings/cli/run/launcher.h"
#include "bindings/cli/run/run_options.h"
#include "bindings/cli/support/child_process.h"
#include "bindings/cli/support/sibling_program.h"

int main(int argc, char** argv) {
  try {
    const auto options = optile::cli::parse_run({argv + 1, argv + argc});
    return options ? optile::cli::launch(*options)
                   : optile::cli::become_sibling(optile::cli::kTool, argv);
  } catch (const std::exception& error) {  // a library's surprise, memory
    std::fprintf(stderr, "optile: %s; nothing more can be done\n", error.what());
    return optile::cli::kOwnFailure;
  }
}
