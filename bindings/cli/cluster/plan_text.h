// The plans of jobs, for people. What jobs and other nodes wrote is shown as shown() makes it.
// Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

// Of the daemon's answer about plans: of one job, or with `job` empty of all. kNotFound: there is
// none, and what to do.
base::Result<std::string> plan_text(const Json& answer, const std::string& job);

// Why a stage has its layers, or a rank its share: what was measured, which plans were tried, what
// they promised and gained. `stage`: its number or its node; `job` may be empty where there is one.
// kNotFound, kInvalid: which jobs and stages there are.
base::Result<std::string> explanation_of_stage(const Json& answer, const std::string& job,
                                               const std::string& stage);

// What explanation_of_stage() says it from: `rank`, the stage's number, and the job's whole `plan`.
base::Result<Json> stage_json(const Json& answer, const std::string& job, const std::string& stage);

// Of the daemon's answers about the cluster and about plans: each node with its ranks.
std::string node_table(const Json& cluster, const Json& plans);

}  // namespace optile::cli
