// The commands about placement are a program of their own beside `optile`.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

bool is_about_placement(Verb verb);

// Never returns when it succeeds; else the exit code, with the reason on stderr.
int become_placement_tool(char** argv);

}  // namespace optile::cli
