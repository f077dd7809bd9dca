// `optile graph`: the graph of a run's step, of a model's graph and what the daemon holds of the
// run.
#pragma once

#include <string>

#include "bindings/cli/options.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

// The exit code: 0, or 1 with a message on stderr.
int write_graph(const Options& options);

// Of a client's rows of ops the one of this op with the most executions; null where there is none.
// The daemon keeps the begin of a long shape. Where the profiler does not tell the sizes of a list
// of tensors ("0 x "), the name serves if one op alone has it. Pure.
Json find_op(const Json& rows, const std::string& op, const std::string& shape, bool backward);

}  // namespace optile::cli
