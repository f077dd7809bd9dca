// Programs that lie beside `optile` and that it becomes for some commands. What starts a program
// stays small: it is loaded before every program, and the libraries of all else are not.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

constexpr const char* kTool = "optile-tool";            // all that starts no program
constexpr const char* kPlacementTool = "optile-place";  // of that, what brings solvers and a BLAS

bool is_about_placement(Verb verb);
// Only where it cannot be started does this return: the exit code.
int become_sibling(const char* name, char** argv);

}  // namespace optile::cli
