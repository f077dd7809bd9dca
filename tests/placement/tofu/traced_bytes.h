// Bytes moved, counted element by element from what tracing touches: the second opinion on costs.
#pragma once

#include <vector>

#include "placement/tofu/operator_costs.h"

namespace optile::placement::tofu {

// Elements that one operator makes workers exchange when it and its tensors are halved as the
// histories say.
std::int64_t traced_elements(const OperatorGraph& graph, const GraphOperator& op,
                             const Shape& extents, const History& of_operator,
                             const std::vector<History>& of_tensors);

}  // namespace optile::placement::tofu
