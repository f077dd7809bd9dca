// What others may see of a session. Plain values; a copy stays as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/profile/curve.h"
#include "tuner/plan/plan.h"

namespace optile::tuner {

inline double seconds(perfmodel::Nanoseconds duration) {
  return static_cast<double>(duration.count()) * 1e-9;
}

enum class Phase : uint8_t { kRecognising, kExploring, kComparing, kTuned, kObserving };
const char* phase_name(Phase phase);

// The least that leases are decided by; cheap.
struct SessionSummary {
  Phase phase = Phase::kRecognising;
  std::size_t tuned_steps = 0;
  perfmodel::Nanoseconds tuned_step{0};  // median
  uint32_t step_number = 0;              // another one once it has turned to another step
  uint64_t step_fingerprint = 0;         // over the sequence of its ops; 0 = not known yet
  std::size_t steps_here = 0;            // whole ones at the present default width, tuned or not
  bool default_widths_in_force = false;  // tuned, and the plan changes no width and no mask
  // Cores beyond its bounds would be used: it is tuned and heard, and some op is as wide as it may
  // be and bound to no core.
  bool has_use_for_more = false;
};

// One row of `optile ops` and of the report.
struct OpView {
  perfmodel::OpPlace place;
  int width = 0;
  Rule rule = Rule::kDefaultWidth;
  std::optional<perfmodel::Configuration> runner_up;
  perfmodel::Nanoseconds best_time{0};  // per execution at the planned width, predicted
  perfmodel::Nanoseconds runner_up_time{0};
  perfmodel::Nanoseconds own_time{0};  // per execution at the program's default width
  int per_step = 0;                    // executions in a step
  perfmodel::Profile profile;
  perfmodel::Curve curve;
};

// Something that was in force and is no longer, because it lost.
struct Rollback {
  uint32_t step = 0;  // counted so far
  std::string what;   // "plan", or the name of an op
  std::string reason;
  double loss_seconds = 0;  // of a step, or of an execution of the op
};

// What was done to know that the plan in force still pays.
struct GuardView {
  bool active = false;    // a plan that changes something is in force
  bool verified = false;  // compared with the program's default widths since it came into force
  uint32_t controls = 0;  // whole steps at the program's default widths
  double control_seconds = 0;
  std::vector<Rollback> rollbacks;  // oldest first
};

// kFigures leaves out what is copied or computed op by op: profiles, curves, predicted times and
// runners-up, and with them Rule::kUserCap. For those who ask often.
enum class Detail : uint8_t { kWhole, kFigures };

struct SessionView {
  Phase phase = Phase::kRecognising;
  uint32_t steps = 0;  // whole steps, unsampled ones included
  uint32_t unsampled_steps = 0;
  uint32_t sampled_steps = 0;  // in which some op ran a case neither planned nor control
  uint64_t samples = 0;
  bool plan_replayed = false;  // the plan in force came from the store
  int default_width = 0;
  perfmodel::Binding binding = perfmodel::Binding::kNone;
  std::optional<Marker> marker;
  std::string decision;                // one sentence: which candidate won and by how much
  perfmodel::SampleSet own_steps;      // whole steps at the program's default widths
  perfmodel::SampleSet control_steps;  // those of them that ran as the tuned ones do: controls
  perfmodel::SampleSet uniform_steps;  // at the best uniform width
  int uniform_width = 0;
  perfmodel::SampleSet tuned_steps;  // under the plan in force
  perfmodel::Nanoseconds switching_cost{0};
  bool switching_cost_measured = false;
  bool default_widths_in_force = false;  // tuned, and the plan changes no width and no mask
  double observed_share = 0;             // coverage of whole steps: see tuner/statistics/coverage.h
  double steerable_share = 0;
  double seconds_in_steps = 0;          // of all whole steps; unsampled ones count as the median
  double seconds_lost_to_sampling = 0;  // sampled steps minus as many at default widths among them
  GuardView guard;
  std::vector<OpView> ops;
};

}  // namespace optile::tuner
