// Why an op runs at its width, as text for people: what `optile explain` prints. Pure.
#pragma once

#include <string>

#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

// `op`: one of the explanations in an answer to /v1/ops/{id}/explain. Several lines.
std::string explanation_text(const Json& op);

}  // namespace optile::cli
