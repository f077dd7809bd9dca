// How long a client's steps take, and what they are compared with: what the report and the metrics
// call speedup. Pure; the daemon's one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/client.h"
#include "daemon/store.h"

namespace optile::daemon {

// Fewer steps than this are no measurement of a step.
inline constexpr std::size_t kLeastSteps = 3;

// Medians in seconds; nothing where too few steps were measured.
struct StepTimes {
  std::optional<double> untouched;     // separate run
  std::optional<double> without_blas;  // earlier run, same launch plan but for the BLAS pool
  std::optional<double> own;           // own widths, this launch plan
  std::optional<double> uniform;
  std::optional<double> tuned;
  double untouched_spread = 0;
};

// The client has a session. `earlier`: runs of the same program, newest first.
StepTimes step_times(const ClientView& client, const std::vector<RunRecord>& earlier);

// Step time at the program's own widths under a launch plan, from an earlier run.
std::optional<double> earlier_own(const std::vector<RunRecord>& earlier, const ClientView& client,
                                  const std::string& launch_plan);

// Above 1: faster than before.
std::optional<double> ratio_of(std::optional<double> before, std::optional<double> after);

}  // namespace optile::daemon
