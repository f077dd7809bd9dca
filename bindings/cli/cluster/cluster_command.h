// `optile cluster`: what this machine's daemon does in a cluster, and the plans of jobs there.
#pragma once

#include <string>

#include "bindings/cli/options.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

bool is_about_cluster(Verb verb);

// The exit code: 0, or 1 with a message on stderr.
int answer_about_cluster(const Options& options);

// The daemon's answer for people. Pure.
std::string cluster_table(const Json& answer);

}  // namespace optile::cli
