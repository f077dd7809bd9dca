// What a session decides: a width for every op place of a step, with the reason. Plain values.
// The daemon turns a PlanDraft into a plan page; the same records feed `explain` and the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/profile/configuration.h"
#include "perfmodel/profile/op.h"
#include "perfmodel/profile/profile.h"

namespace optile::tuner {

// Which rule decided a width. The text for people is in reason_text().
enum class Rule : uint8_t {
  kDefaultWidth,  // not sampled yet, or nothing beat the program's default width by a settled
                  // margin
  kHillClimb,     // the paper's climb stopped here
  kFastest,       // fastest width by a settled margin
  kPlanned,       // the segment planner: run time plus switching cost
  kUniform,       // one width for the whole step won the comparison of whole steps
  kReplayed,      // from the store
  kUserCap,       // a faster width exists, but the user's word forbids it
  kLeftAlone,     // observed only: nested, a region, or too short to matter
  kRolledBack,    // a width lost against the program's own
  kUndone,        // somebody asked for the program's default width
};
const char* reason_text(Rule rule);

// How the ops of a framework that runs several at once pass (optile_flow).
struct OpFlow {
  enum class Kind : uint8_t {
    kFree,    // as the framework hands them out, none wider than `width_cap`
    kSerial,  // one at a time, each at its own width
    kPacked,  // side by side by strategy 3: those that are ready, as they fit
    kFilled,  // and by strategy 4: also on the hardware threads of taken cores
    kAhead,   // side by side, what the rest of the step waits for longest first
  };
  Kind kind = Kind::kFree;
  int width_cap = 0;  // 0 = none

  // Strategies choose when an op starts.
  bool admits() const {
    return kind == Kind::kPacked || kind == Kind::kFilled || kind == Kind::kAhead;
  }
  bool operator==(const OpFlow&) const = default;
};

// What an op place costs, for a flow that admits its executions.
struct OpMenu {
  static constexpr std::size_t kMostWidths = 6;  // OPTILE_MENU_WIDTHS

  struct Choice {
    int width = 0;
    double seconds = 0;  // of an execution alone

    bool operator==(const Choice&) const = default;
  };
  int op = 0;        // places of one op have one number
  int per_step = 0;  // executions in a step; 0 = it is not scheduled
  std::vector<Choice> choices;

  bool operator==(const OpMenu&) const = default;
};

struct PlanEntry {
  perfmodel::OpPlace place;
  int width = 0;  // 0 = the program's own
  Rule rule = Rule::kDefaultWidth;
  bool leave = false;
  std::vector<int> schedule;  // width in the i-th scheduled step; empty or schedule_length long
  perfmodel::Nanoseconds baseline{0};  // an execution at the program's default width; 0 = not known
  double accepted_loss = 0;            // share of it that this width is known to cost the op
  OpMenu menu{};

  bool operator==(const PlanEntry&) const = default;
};

struct Marker {
  perfmodel::OpPlace place;  // the op that starts a step; context 0: wherever its key occurs
  int ops = 0;               // ops at depth 0 in a step

  bool is(const perfmodel::OpPlace& met) const {
    return met.key == place.key && (place.context == 0 || met.context == place.context);
  }

  bool operator==(const Marker&) const = default;
};

inline constexpr int kPageSteps = 16;  // OPTILE_MAX_SCHEDULE

struct PlanDraft {
  bool record_all = false;  // events for every op
  bool record_nested = false;
  bool count = false;  // counters around ops; what is measured then is no sample
  // No op has a width of its own, or all have the one of `default_width_cap`: the client may leave
  // most steps unsampled.
  bool may_pause_sampling = false;
  OpFlow flow;                        // of a framework that runs several ops at once
  std::vector<OpFlow> schedule_flow;  // in the i-th scheduled step; empty or schedule_length long
  int cores = 0;                      // that admitted ops share
  int default_width_cap = 0;          // of every op, in the present plan; 0 = none
  std::optional<Marker> marker;
  perfmodel::Binding binding = perfmodel::Binding::kNone;
  int schedule_length = 0;  // <= kPageSteps
  std::vector<perfmodel::Binding> schedule_binding;
  std::vector<PlanEntry> entries;  // <= half of OPTILE_PLAN_SLOTS

  bool operator==(const PlanDraft&) const = default;
};

// What is kept between runs of a program: enough to start tuned and to explain why.
struct StoredEntry {
  perfmodel::OpPlace place;
  int width = 0;
  Rule rule = Rule::kDefaultWidth;
  double own_ns = 0;      // an execution at the program's default width; 0 = not known
  double planned_ns = 0;  // and at `width`
};
// What an op took at a width, without a binding of ours.
struct StoredTime {
  uint64_t key = 0;
  int width = 0;
  double ns = 0;
};
struct StoredPlan {
  uint64_t step_fingerprint = 0;  // over the sequence of keys of a step
  int default_width = 0;          // that the plan was made under
  perfmodel::Binding binding = perfmodel::Binding::kNone;
  Marker marker;
  std::vector<StoredEntry> entries;
  double own_step_seconds = 0;  // median of control steps when it was made; 0 = none
  double tuned_step_seconds = 0;
  OpFlow flow{};                  // no cap: one width for all follows from the entries
  std::vector<StoredTime> times;  // from profiles, of any default width
};
struct StoredProfile {
  uint64_t key = 0;
  std::string name;
  std::string shape;
  perfmodel::Configuration at;
  uint64_t count = 0;
  double median_ns = 0;
};

}  // namespace optile::tuner
