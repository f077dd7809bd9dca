// Reads the strategy problems of the IOPDDL contest: one JSON object, "problem" with "nodes"
// (intervals, costs, usages), "edges" (nodes, costs row by row) and an optional "usage_limit".
// Source: the README of google/iopddl.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "placement/strategy/problem.h"

namespace optile::placement {

// Above these a file is refused rather than believed.
inline constexpr std::size_t kMostStrategyNodes = 10'000'000;
inline constexpr std::size_t kMostStrategyEdges = 50'000'000;

// Whether the text looks like such a problem: an object whose first key is "problem".
bool looks_like_iopddl(std::string_view text);

// Strict: what the format does not have is an error, and an error says line and column. Unknown
// keys are errors too, so that a limit under another name is not silently lost.
base::Result<StrategyProblem> read_iopddl(std::string_view text);

}  // namespace optile::placement
