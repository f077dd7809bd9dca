// How long a search may go on, by the options.
#pragma once

#include <atomic>

#include "bindings/cli/place/place_options.h"
#include "placement/budget.h"

namespace optile::cli {

// 5 s where neither time nor evaluations are limited. `interrupted` must outlive the limits.
placement::Limits search_limits(const SearchOptions& options, const std::atomic<bool>& interrupted);

}  // namespace optile::cli
