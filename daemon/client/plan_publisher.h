// Brings a session's plans into force: filters each (plan_filter.h), writes its page, and knows
// what the page in force asks of the client and of us. The daemon's one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "daemon/client/drain_pace.h"
#include "daemon/client/plan_filter.h"
#include "daemon/client/plan_page_writer.h"

namespace optile::daemon {

// What the scheduled steps of a plan try.
struct Trials {
  std::size_t ops = 0;
  std::set<int> widths;
};

struct PageInForce {
  std::size_t entries_left_out = 0;
  Trials trials;
  bool may_pause_sampling = false;
  int width_cap = 0;  // the plan's one width for every op; 0 = it has several, or none
  DrainPace::Want wanted_events = DrainPace::Want::kProfiling;
};

class PlanPublisher {
 public:
  explicit PlanPublisher(optile_plan_region* region) : page_(region) {}

  // `default_width`: steps at this one are no trials. `surroundings`: but for the cap.
  void publish(tuner::PlanDraft draft, const PlanConditions& conditions,
               PageSurroundings surroundings, int default_width);
  const PageInForce& in_force() const { return in_force_; }
  bool withheld_trials() const { return withheld_trials_; }  // of some plan so far
  bool was_bound() const { return was_bound_; }  // some plan has set the masks of its threads
  // Of the schedule of plan i at index i - 1.
  const std::vector<uint8_t>& schedule_lengths() const { return schedule_lengths_; }
  // Beside the plans, what is in force at once.
  PlanPageWriter& page() { return page_; }
  const PlanPageWriter& page() const { return page_; }

 private:
  PlanPageWriter page_;
  PageInForce in_force_;
  bool withheld_trials_ = false;
  bool was_bound_ = false;
  std::vector<uint8_t> schedule_lengths_;
};

}  // namespace optile::daemon
