// `optile doctor`: what this machine and this program allow, and what would change it.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/doctor/doctor_checks.h"
#include "bindings/cli/options.h"

namespace optile::cli {

// The exit code: 0 when nothing is a problem, else 1.
int examine(const Options& options);

// For people, and for programs.
std::string findings_text(const std::vector<Finding>& findings);
std::string findings_json(const std::vector<Finding>& findings);

}  // namespace optile::cli
