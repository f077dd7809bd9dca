// How long a client's steps take, and what they are compared with: what the report, the tables and
// the metrics call a factor. Pure; the daemon's one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/client/client.h"
#include "daemon/store/store.h"

namespace optile::daemon {

// Fewer steps than this are no measurement of a step.
inline constexpr std::size_t kLeastSteps = 3;

struct StepTime {
  double seconds = 0;  // mean: what a run takes is the sum of its steps, not their middle
  std::size_t steps = 0;
  double spread = 0;                        // half-width of a 95 % interval, as a share
  std::vector<std::string> disturbances{};  // what makes it worth less, in words
};

// Nothing where too few steps were measured.
struct StepTimes {
  std::optional<StepTime> untouched;     // separate run
  std::optional<StepTime> without_blas;  // earlier run, same launch plan but for the BLAS pool
  std::optional<StepTime> own;           // default widths, this launch plan
  std::optional<StepTime> uniform;
  std::optional<StepTime> tuned;
  // As this run makes its steps: tuned ones, or where it has nothing to tune its own. Not of a run
  // that is only watched.
  std::optional<StepTime> present;
  // Why no untouched run that is known is one to compare with; empty: there is one, or none at all.
  std::string incomparable;
};

// The client has a session. `earlier`: runs of the same program, newest first.
StepTimes step_times(const ClientView& client, const std::vector<RunRecord>& earlier);

// Step time at the program's default widths under a launch plan, from an earlier run.
std::optional<StepTime> earlier_own(const std::vector<RunRecord>& earlier, const ClientView& client,
                                    const std::string& launch_plan);

// By how much steps became shorter. Above 1: faster than before.
struct Factor {
  double value = 1;
  double low = 1;  // of a 95 % interval
  double high = 1;
  std::size_t steps_before = 0;
  std::size_t steps_after = 0;
  std::vector<std::string> disturbances{};  // of either side, each once
};

// What every report, table and metric says of a gain comes from here.
std::optional<Factor> factor_of(const std::optional<StepTime>& before,
                                const std::optional<StepTime>& after);
std::optional<Factor> speedup_of(const StepTimes& times);  // of all that is done together
std::optional<Factor> launch_plan_factor_of(const ClientView& client, const StepTimes& times,
                                            const std::vector<RunRecord>& earlier);
std::optional<Factor> blas_pool_factor_of(const ClientView& client, const StepTimes& times,
                                          const std::vector<RunRecord>& earlier);

// Of all sides that were measured, each once.
std::vector<std::string> disturbances(const StepTimes& times);

}  // namespace optile::daemon
