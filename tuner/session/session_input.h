// What a session is told: its options, and the events of its client as the daemon decoded them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/plan/plan.h"
#include "tuner/plan/width_planner.h"
#include "tuner/search/search.h"

namespace optile::tuner {

struct SessionOptions {
  bool may_change_widths = true;  // false: observe and advise
  // Controls, rollback and exploring again; false: the same widths in every run (freeze).
  bool guard = true;
  SearchKind search = SearchKind::kAuto;
  Strategy strategy = Strategy::kAuto;
  std::vector<perfmodel::Configuration> cases;  // what may be tried, from sched::admitted_widths
  int cores = 1;                                // C: cores of the budget
  int hardware_threads = 1;                     // of each of them
  int interval = 0;                             // x of the hill climb; 0 = 1 up to 8 cores, else 4
  std::optional<StoredPlan> stored;
  uint64_t seed = 1;
  // A sequence has to repeat for so long before it is taken for the step: the loops inside one
  // (the time steps of a recurrent layer) are over sooner.
  perfmodel::Nanoseconds least_repeating{0};
  // Steps in which counters are read, once the widths are settled and heard (or only observed):
  // neither search nor guard waits for them. 0 = none.
  uint32_t counted_steps = 0;
  bool counting_waits = false;      // until allow_counting()
  bool counts_in_any_case = false;  // somebody wants them, also where nothing can be steered
};

// An execution of an op at depth 0, as the daemon decoded and validated it.
struct OpEvent {
  perfmodel::OpPlace place;
  perfmodel::Nanoseconds begin{0};  // since attach
  perfmodel::Nanoseconds duration{0};
  uint32_t step = 0;
  int width = 0;  // in force
  perfmodel::Binding binding = perfmodel::Binding::kNone;
  bool first_touch = false;
  bool default_width = false;  // ran at the program's default width
  bool steerable = true;
  bool overlapped = false;    // other threads were inside ops meanwhile: no sample
  std::optional<int> column;  // of the schedule
  uint64_t plan = 0;          // sequence number of the PlanDraft in force; 0 = none
};

struct StepEvent {
  uint32_t step = 0;  // the step that ended; numbers that are left out passed unsampled
  perfmodel::Nanoseconds duration{0};
  perfmodel::Nanoseconds observed{0};  // inside ops at depth 0
  perfmodel::Nanoseconds steerable{0};
  uint32_t ops = 0;
  uint32_t width_changes = 0;
  bool mixed = false;       // the plan changed inside
  bool overlapped = false;  // most of it
  bool heard = true;        // its ops were told; else `observed`, `steerable`, `ops` say nothing
  std::optional<int> column;
  uint64_t plan = 0;
};

}  // namespace optile::tuner
