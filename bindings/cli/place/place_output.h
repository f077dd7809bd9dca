// An answer as JSON and as a table that a person understands. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "placement/answer.h"
#include "placement/cluster.h"
#include "placement/method.h"

namespace optile::cli {

// By a printf pattern of one number.
std::string format(const char* pattern, double value);

// What every answer tells, whatever was searched; a figure that is not finite is null.
nlohmann::json answer_fields(const placement::Answer& answer, const std::string& objective);

std::string answer_json(const placement::Answer& answer, const placement::Model& model,
                        const placement::Cluster& cluster, placement::Objective objective);
std::string answer_table(const placement::Answer& answer, const placement::Model& model,
                         const placement::Cluster& cluster, placement::Objective objective);

}  // namespace optile::cli
