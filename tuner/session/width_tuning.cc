#include "tuner/session/width_tuning.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tuner/session/candidate_planner.h"

namespace optile::tuner {

using perfmodel::Nanoseconds;

namespace {

constexpr int kMostExplorations = 4;  // a width or a budget that keeps changing is only a cap

constexpr const char* kUndoneText = "undone by hand: every op runs at the program's default width";
constexpr const char* kSharedText =
    "several threads issue ops at the same time and share the cores: no widths are searched";

}  // namespace

// A stored plan is in force from the first op on; the sequence is verified while it runs.
WidthTuning::WidthTuning(ClientRecord& client)
    : client_(client),
      exploration_(client.environment, client.times, client.sampler),
      comparison_(client.environment, client.times),
      plan_(client.environment),
      guard_(client.environment),
      lent_(client.environment) {
  const SessionOptions& options = client_.environment.options();
  if (!options.may_change_widths || !options.stored) return;
  plan_.replay(*options.stored);
  client_.step.prefer_marker(options.stored->marker.place);
  guard_.begin(plan_);
}

// ---- the step ----------------------------------------------------------------------------------

void WidthTuning::on_step_found() {
  lent_.drop_plan();  // it was about the step before
  client_.pages.on_changed();
  if (!client_.environment.options().may_change_widths) {
    phase_ = Phase::kObserving;
    return;
  }
  if (plan_.verify_replay(*client_.step.model())) {
    phase_ = Phase::kTuned;
    decision_ = "the stored plan fits this program's step and is in force";
    client_.step.restart();
    return;
  }
  plan_.drop_replay();
  guard_.end();
  exploration_.forget_rounds();
  if (client_.environment.default_width() <= 0) return;
  if (!guard_.has_rolled_back() && undone_ == nullptr) {
    start();
  } else {
    // What was stored lost already: searching waits until it can be afforded.
    keep_default_widths(undone_ != nullptr ? undone_ : decision_);
  }
}

void WidthTuning::on_step_not_found() {
  decision_ = "no repeating step was found, so every op runs at the program's default width";
  client_.pages.on_changed();
}

void WidthTuning::leave_loop() {
  client_.step.leave_loop();
  plan_.drop_replay();
  plan_.choose({});
  comparison_.stop();
  exploration_.stop();
  guard_.end();
  phase_ = Phase::kRecognising;
  client_.times.forget();
  client_.times.trial_controls = {};
  client_.times.sampled = 0;
  client_.times.sampled_seconds = 0;
  decision_ = "what repeated was a loop inside the step; a longer step is looked for";
  client_.pages.on_changed();
}

void WidthTuning::begin_watch() {
  if (phase_ == Phase::kComparing) {
    keep_default_widths("the program turned to another step while whole steps were compared");
  }
  client_.step.begin_watch();
  client_.pages.on_changed();
}

// ---- the environment ---------------------------------------------------------------------------

void WidthTuning::on_default_width_changed() {
  if (!client_.environment.options().may_change_widths || client_.step.model() == nullptr) return;
  if (const StoredPlan* replay = plan_.replayed()) {
    const bool same = client_.environment.default_width() == replay->default_width;
    if (same || plan_.replay_is_clipped()) return;
    plan_.drop_replay();
  }
  guard_.end();
  restart();
}

void WidthTuning::on_cases_changed() {
  on_surroundings_changed();
  if (!client_.environment.options().may_change_widths || client_.step.model() == nullptr ||
      client_.environment.default_width() == 0 || plan_.replayed() != nullptr) {
    return;
  }
  guard_.end();
  restart();
}

void WidthTuning::on_bounds_changed(const std::optional<StoredPlan>& stored) {
  lent_.drop_plan();  // it was for as many cores as the former ones and those lent
  client_.pages.on_changed();
  if (!client_.environment.options().may_change_widths || client_.step.model() == nullptr ||
      client_.environment.default_width() <= 0) {
    return;
  }
  guard_.end();
  client_.times.forget();
  if (undone_ != nullptr || replay_under(stored)) return;
  plan_.drop_replay();
  // Bounds that come from outside are no habit of the program's.
  exploration_.forget_rounds();
  restart();
}

// A stored plan that serves for the present default width comes into force, or stays.
bool WidthTuning::replay_under(const std::optional<StoredPlan>& stored) {
  const StepModel& step = *client_.step.model();
  const std::optional<bool> exact = plan_.replay_instead(stored, step);
  if (!exact) return false;
  phase_ = Phase::kTuned;
  comparison_.stop();
  exploration_.stop();
  guard_.spend_credit();
  client_.step.restart();
  client_.step.prefer_marker(step.marker().place);
  decision_ = *exact ? "the stored plan for so many cores is in force"
                     : "the stored plan is in force, as far as it fits in so many cores";
  guard_.begin(plan_);
  return true;
}

// What is stored may have a width for it, and none may be set any more.
void WidthTuning::on_op_left_alone(uint64_t key) {
  const bool had_width = plan_.leave_entry({key, 0}, Rule::kLeftAlone, step_in_force());
  if (had_width) client_.pages.on_changed();
  if (client_.step.model() == nullptr) return;
  if (had_width) settled_ = true;
  exploration_.leave_alone(*client_.step.model());
  client_.pages.on_changed();
}

// While other threads compute as well no width can be told from another. What was settled before
// stays in force, as a bound; the guard looks at steps that the thread has for itself.
void WidthTuning::on_co_runners_changed() {
  if (client_.step.model() == nullptr || !client_.environment.options().may_change_widths) return;
  if (!client_.concurrency.usual()) {
    if (phase_ == Phase::kTuned && decision_ == kSharedText) restart();
  } else if (phase_ == Phase::kExploring || phase_ == Phase::kComparing) {
    keep_default_widths(kSharedText);
  }
}

void WidthTuning::on_surroundings_changed() {
  guard_.on_surroundings_changed();
  if (phase_ == Phase::kTuned && !guard_.has_page()) make_guard_page();
}

void WidthTuning::set_lent(bool lent, std::optional<StoredPlan> known) {
  const StepModel* step = client_.step.model();
  const bool serves =
      lent && known && step != nullptr && undone_ == nullptr && lent_.serves(*known, *step);
  if (!lent_.set(lent, serves ? std::move(known) : std::nullopt)) return;
  client_.pages.demand();
  if (lent && guard_.has_page()) guard_.drop_page();
}

// ---- from exploring to a plan in force ---------------------------------------------------------

// Caps are in the next page at once, since widths that are not below the own one are never written.
// What was sampled stays, so that exploring again costs little; a program that keeps changing its
// width gets no more than the cap.
void WidthTuning::restart() {
  client_.pages.on_changed();
  if (undone_ != nullptr) return;
  if (exploration_.rounds() < kMostExplorations) {
    start();
  } else if (phase_ != Phase::kTuned) {
    settle(own_candidate(client_.environment, *client_.step.model()),
           "the program keeps changing its width");
  }
}

void WidthTuning::start() {
  if (client_.concurrency.usual()) {
    keep_default_widths(kSharedText);
    return;
  }
  exploration_.count_round();
  comparison_.restart();
  plan_.choose({});
  explore();
}

void WidthTuning::explore() {
  StepModel& step = *client_.step.model();
  if (client_.environment.usable_cases().empty()) {
    settle(own_candidate(client_.environment, step), "there is no narrower width to try");
    return;
  }
  phase_ = Phase::kExploring;
  exploration_.begin(step);
  client_.pages.demand();
  if (exploration_.is_over()) compare();
}

void WidthTuning::compare() {
  exploration_.stop();
  if (auto verdict = comparison_.begin(*client_.step.model())) {
    settle(std::move(verdict->winner), std::move(verdict->decision));
    return;
  }
  phase_ = Phase::kComparing;
  client_.pages.demand();
}

void WidthTuning::on_page_ended() {
  if (phase_ == Phase::kExploring) {
    exploration_.close_page(*client_.step.model());
    client_.pages.demand();
    if (exploration_.is_over()) compare();
  } else if (phase_ == Phase::kComparing) {
    if (auto verdict = comparison_.close_page(*client_.step.model())) {
      settle(std::move(verdict->winner), std::move(verdict->decision));
    } else {
      client_.pages.demand();
    }
  } else {
    const bool lost = guard_.close_page();
    client_.pages.on_changed();
    if (lost) {
      roll_back();
    } else {
      make_guard_page();
    }
  }
}

void WidthTuning::settle(Candidate candidate, std::string decision) {
  plan_.choose(std::move(candidate));
  decision_ = std::move(decision);
  phase_ = Phase::kTuned;
  comparison_.stop();
  exploration_.stop();
  settled_ = true;
  client_.step.rest(true);
  client_.times.tuned = {};
  const double compared = comparison_.own_seconds();
  guard_.begin(plan_.chosen(), comparison_.seconds_of(plan_.chosen()).value_or(0),
               compared > 0 ? compared : seconds(client_.times.own.median()));
  client_.pages.on_changed();
}

// For now: nothing that is worth to be stored.
void WidthTuning::keep_default_widths(std::string decision) {
  settle(own_candidate(client_.environment, *client_.step.model()), std::move(decision));
  settled_ = false;
}

// ---- in force ----------------------------------------------------------------------------------

StepModel* WidthTuning::step_in_force() {
  return phase_ == Phase::kTuned ? client_.step.model() : nullptr;
}

void WidthTuning::on_plan_step(const StepEvent& event) {
  if (!client_.environment.options().guard || event.overlapped) return;
  guard_.on_step(event);
  if (!guard_.has_page()) make_guard_page();
  if (phase_ != Phase::kTuned || client_.step.watching() || undone_ != nullptr) return;
  const bool clipped = plan_.replay_is_clipped();
  if (!guard_.earns_exploration(seconds(event.duration), clipped, plan_.replayed() != nullptr)) {
    return;
  }
  if (clipped) {
    plan_.drop_replay();
    guard_.end();
  }
  restart();
}

// In a column of the present page.
void WidthTuning::on_scheduled_step(const StepEvent& event) {
  if (event.overlapped) return;
  if (guard_.has_page() && client_.environment.options().guard) {
    guard_.on_step(event);
  }
  if (phase_ == Phase::kComparing) comparison_.record(*event.column, event.duration);
}

void WidthTuning::make_guard_page() {
  const bool in_force = plan_.replayed() != nullptr || phase_ == Phase::kTuned;
  if (!in_force || client_.step.watching() || lent_.lent() || client_.concurrency.usual()) return;
  if (guard_.make_page()) client_.pages.on_changed();
}

void WidthTuning::roll_back() {
  std::string decision = guard_.roll_back(client_.steps.count());
  forget_ = true;
  plan_.drop_replay();
  client_.pages.on_changed();
  if (client_.step.model() == nullptr) {
    decision_ = std::move(decision);  // the step is still being looked for
  } else {
    keep_default_widths(std::move(decision));
  }
}

void WidthTuning::on_entry_disabled(const perfmodel::OpPlace& place, Nanoseconds under_entry,
                                    Nanoseconds at_default_width) {
  if (!plan_.leave_entry(place, Rule::kRolledBack, step_in_force())) return;
  Rollback rollback;
  rollback.step = client_.steps.count();
  const perfmodel::OpDescription* op = client_.environment.find_op(place.key);
  rollback.what = op == nullptr ? "op" : op->name;
  rollback.loss_seconds = std::max(0.0, seconds(under_entry) - seconds(at_default_width));
  char text[160];
  std::snprintf(text, sizeof text,
                "slower under its entry than at the program's default width: %.4g against %.4g s",
                seconds(under_entry), seconds(at_default_width));
  rollback.reason = text;
  guard_.remember(std::move(rollback));
  settled_ = client_.step.model() != nullptr;
  client_.pages.on_changed();
}

void WidthTuning::undo(uint64_t key, const char* said) {
  if (key != 0) {
    lent_.undo(key);
    if (lent_.has_plan()) client_.pages.on_changed();
    if (plan_.leave_entry({key, 0}, Rule::kUndone, step_in_force())) {
      settled_ = client_.step.model() != nullptr;
      client_.pages.on_changed();
    }
    return;
  }
  lent_.drop_plan();
  undone_ = said != nullptr ? said : kUndoneText;
  forget_ = forget_ || said == nullptr;
  guard_.drop_exploration();
  plan_.drop_replay();
  guard_.end();
  client_.pages.on_changed();
  if (client_.step.model() == nullptr) {
    decision_ = undone_;
  } else {
    keep_default_widths(undone_);
  }
}

bool WidthTuning::take_settled() {
  return client_.step.model() != nullptr && std::exchange(settled_, false);
}

bool WidthTuning::take_forgotten() {
  return std::exchange(forget_, false);
}

// ---- plan pages --------------------------------------------------------------------------------

bool WidthTuning::runs_schedule() const {
  return phase_ == Phase::kExploring || phase_ == Phase::kComparing || guard_.has_page();
}

void WidthTuning::add_to(PlanDraft& draft, bool enough_steps) const {
  const StepModel* step = client_.step.model();
  const bool tuned = phase_ == Phase::kTuned;
  if (tuned || plan_.replayed() != nullptr) draft.binding = plan_.binding();
  const bool one_width = tuned && enough_steps && !guard_.has_page() && !client_.step.watching();
  const int width = one_width ? plan_.common_width() : 0;
  if (tuned && lent_.has_plan()) {
    lent_.add_to(draft);
  } else if (width != 0) {
    draft.default_width_cap = width;
  } else if (tuned || plan_.replayed() != nullptr) {
    plan_.add_to(draft, client_.environment.options().may_change_widths ? step : nullptr);
  } else if (phase_ == Phase::kExploring) {
    exploration_.add_to(draft, *step);
  } else if (phase_ == Phase::kComparing) {
    comparison_.add_to(draft, *step);
  }
  guard_.add_to(draft);
  draft.schedule_length = static_cast<int>(draft.schedule_binding.size());
}

std::vector<PageColumn> WidthTuning::columns() const {
  if (phase_ == Phase::kExploring) return exploration_.columns();
  if (phase_ == Phase::kComparing) return comparison_.columns();
  return guard_.columns();
}

}  // namespace optile::tuner
