// One client's tuning from attach to the settled plan: recognise steps, sample, plan, compare whole
// steps, keep what won. Pure: events in, plans out; no clock, no descriptor, no randomness but the
// seed. Owned by the daemon's controller (or a test, or a simulation), used from its one thread.
//
// Phases: kRecognising (the program's default widths, every op recorded; step 0 is never sampled) →
// kExploring (scheduled steps in which ops run trial cases) → kComparing (whole steps: program's
// default widths, best uniform width, planned widths, interleaved) → kTuned. A session with a
// stored plan that fits goes from kRecognising straight to kTuned and samples nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tuner/session/client_record.h"
#include "tuner/session/session_input.h"
#include "tuner/session/session_view.h"
#include "tuner/session/speedup_curve.h"
#include "tuner/session/width_tuning.h"

namespace optile::tuner {

class Session {
 public:
  explicit Session(SessionOptions options);

  // The steered runtime, once the client knows it; before the first step at the latest.
  void set_runtime(perfmodel::Runtime runtime);
  // As the client last saw it; a lower one is a cap from then on. `bounded`: by a lease or budget.
  void set_default_width(int width, bool bounded = false);
  void add_op(perfmodel::OpDescription op);
  // In the order of their ends. Events may be missing (dropped), never repeated.
  void on_op(const OpEvent& event);
  void on_step(const StepEvent& event);
  // Another thread of the client is followed from now on: its ops are another sequence.
  void on_issuer_changed();
  // Ops that the client has begun since attach; at every look at the client. A tuned one sends no
  // op events, and none of a step whose marker never comes again: this is how its session notices
  // that the program has turned to something else. `steps_begun` counts those unsampled as well.
  void on_progress(uint64_t ops_begun, uint32_t steps_begun);
  // Steps that the program itself has declared since attach: from the first on they are the number
  // of its steps, whatever repeats in the sequence of its ops.
  void on_declared_steps(uint32_t steps);
  // Budget changed: other cases, another C. Curves are kept.
  void set_cases(std::vector<perfmodel::Configuration> cases, int cores);
  // A lease or a budget bounds the program: the same, and its default width is at most
  // `default_width` from now on. `stored`: what is known for that width, in force at once where the
  // step is the same. A stored plan for more cores stays as far as it fits. Otherwise whole steps
  // are compared anew.
  void set_bounds(std::vector<perfmodel::Configuration> cases, int cores, int default_width,
                  const std::optional<StoredPlan>& stored = std::nullopt);
  // What the caller adds to a page changed: the next take_plan() has one.
  void on_page_bounds_changed();
  // Ops may be wider than the bounds for a while, on cores that others do not use now. Such steps
  // say nothing about the plan, and no control is due in them. `known`: the plan for so many cores,
  // which is in force meanwhile where it fits; without one all that is as wide as it may be widens.
  void set_lent(bool lent, std::optional<StoredPlan> known = std::nullopt);
  // A neighbour came or left: what the plan was made under may not hold any more.
  void on_surroundings_changed();
  // The client stopped obeying an entry: it was slower than the program's default width afterwards.
  void on_entry_disabled(const perfmodel::OpPlace& place, perfmodel::Nanoseconds under_entry,
                         perfmodel::Nanoseconds at_default_width);
  // By hand: the program's default widths for the rest of the run; `key` 0 = of every op.
  void undo(uint64_t key);
  // The user wants the program's default width and no other: the same, for every op, without a word
  // to the store that the plan was wrong.
  void leave_to_user();
  // Counters would be read now, were it allowed: allow_counting(), once and for all of them.
  bool asks_to_count() const;
  void allow_counting();

  // A plan that differs from the last one taken, or nullopt. The caller numbers it and tells the
  // number back in OpEvent::plan and StepEvent::plan.
  std::optional<PlanDraft> take_plan(uint64_t number);
  // The settled plan and its profiles, once per settling; for the store.
  struct Settled {
    StoredPlan plan;
    std::vector<StoredProfile> profiles;
  };
  std::optional<Settled> take_settled();
  // What is stored of this program's plan is wrong: true once per rollback.
  bool take_forgotten();

  // Predicted seconds of a step with 1 … `most` cores; empty while nothing is known of the step.
  std::vector<double> step_seconds_by_cores(int most) const;

  SessionSummary session_summary() const;
  SessionView view(Detail detail = Detail::kWhole) const;
  const std::map<uint64_t, perfmodel::OpDescription>& ops() const;

 private:
  ClientRecord client_;
  InForce in_force_;
  WidthTuning tuning_;          // refers to both: `client_` is neither copied nor moved
  mutable SpeedupCurve curve_;  // as last computed
};

}  // namespace optile::tuner
