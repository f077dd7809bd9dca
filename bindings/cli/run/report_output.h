// After the program has ended: the report file and the summary table.
#pragma once

#include <string>

#include "bindings/cli/run/launch_environment.h"

namespace optile::cli {

// Fetches the run's report from the daemon and writes what was asked for; what cannot be had is
// said on stderr. The program's exit code is not touched by any of it.
void write_outputs(const Options& options, const LaunchDecision& decision);

// The run's report as the daemon has it, waiting a moment for the program's end to be noticed.
std::string report_of(const LaunchDecision& decision);

// The report as a table that a person understands. `report` is the daemon's JSON, `command` the
// program's, as it is typed.
std::string summary_table(const std::string& report, const std::string& command = "COMMAND");

}  // namespace optile::cli
