// `optile compare`: a table of what methods reach on the graphs of a folder, as Markdown.
#pragma once

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// 0, or 125 where there is nothing to compare.
int compare_methods(const CompareOptions& options);

}  // namespace optile::cli
