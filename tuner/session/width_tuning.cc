#include "tuner/session/width_tuning.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tuner/session/candidate_planner.h"

namespace optile::tuner {

using perfmodel::Nanoseconds;

namespace {

constexpr int kMostExplorations = 4;  // a width or a budget that keeps changing is only a cap

constexpr const char* kSharedText =
    "several threads issue ops at the same time and share the cores: no widths are searched";

bool explores_beside_caps(const ClientRecord& client) {
  return client.environment.options().strategy != Strategy::kUniform;
}

// It won among caps, and its run ended before any op was measured by itself.
bool is_unexplored_cap(const StoredPlan& plan) {
  return plan.times.empty() &&
         std::any_of(plan.entries.begin(), plan.entries.end(), [](const StoredEntry& entry) {
           return entry.rule == Rule::kUniform && entry.width > 1;
         });
}

}  // namespace

WidthTuning::WidthTuning(ClientRecord& client, InForce& in_force)
    : client_(client),
      in_force_(in_force),
      exploration_(client.environment, client.times, client.sampler),
      comparison_(client.environment, client.times) {
  const SessionOptions& options = client_.environment.options();
  if (!options.may_change_widths || !options.stored) return;
  in_force_.plan.replay(*options.stored);
  client_.step.prefer_marker(options.stored->marker.place);
  in_force_.guard.begin(in_force_.plan);
  if (explores_beside_caps(client_) && is_unexplored_cap(*options.stored)) {
    in_force_.guard.ask_exploration();
  }
}

// ---- the step ----------------------------------------------------------------------------------

void WidthTuning::on_step_found() {
  in_force_.lent.drop_plan();  // it was about the step before
  client_.pages.on_changed();
  if (!client_.environment.options().may_change_widths) {
    client_.phase = Phase::kObserving;
    return;
  }
  if (in_force_.plan.verify_replay(*client_.step.model())) {
    client_.phase = Phase::kTuned;
    client_.decision = "the stored plan fits this program's step and is in force";
    client_.step.restart();
    return;
  }
  in_force_.plan.drop_replay();
  in_force_.guard.end();
  exploration_.forget_rounds();
  if (client_.environment.default_width() <= 0) return;
  if (!in_force_.guard.has_rolled_back() && in_force_.undone == nullptr) {
    start();
  } else {
    // What was stored lost already: searching waits until it can be afforded.
    keep_default_widths(in_force_.undone != nullptr ? in_force_.undone : client_.decision);
  }
}

void WidthTuning::leave_loop() {
  client_.step.leave_loop();
  in_force_.plan.drop_replay();
  in_force_.plan.choose({});
  comparison_.stop();
  exploration_.stop();
  in_force_.guard.end();
  client_.phase = Phase::kRecognising;
  client_.times.forget();
  client_.times.trial_controls = {};
  client_.times.sampled = 0;
  client_.times.sampled_seconds = 0;
  client_.decision = "what repeated was a loop inside the step; a longer step is looked for";
  client_.pages.on_changed();
}

void WidthTuning::begin_watch() {
  if (client_.phase == Phase::kComparing) {
    keep_default_widths("the program turned to another step while whole steps were compared");
  }
  client_.step.begin_watch();
  client_.pages.on_changed();
}

// ---- the environment ---------------------------------------------------------------------------

void WidthTuning::on_default_width_changed() {
  if (!client_.environment.options().may_change_widths || client_.step.model() == nullptr) return;
  if (const StoredPlan* replay = in_force_.plan.replayed()) {
    const bool same = client_.environment.default_width() == replay->default_width;
    if (same || in_force_.plan.replay_is_clipped()) return;
    in_force_.plan.drop_replay();
  }
  in_force_.guard.end();
  restart();
}

void WidthTuning::on_cases_changed() {
  in_force_.guard.on_surroundings_changed();
  if (client_.phase == Phase::kTuned && !in_force_.guard.has_page())
    make_guard_page(client_, in_force_);
  if (!client_.environment.options().may_change_widths || client_.step.model() == nullptr ||
      client_.environment.default_width() == 0 || in_force_.plan.replayed() != nullptr) {
    return;
  }
  in_force_.guard.end();
  restart();
}

void WidthTuning::on_bounds_changed(const std::optional<StoredPlan>& stored) {
  in_force_.lent.drop_plan();  // it was for as many cores as the former ones and those lent
  client_.pages.on_changed();
  if (!client_.environment.options().may_change_widths || client_.step.model() == nullptr ||
      client_.environment.default_width() <= 0) {
    return;
  }
  in_force_.guard.end();
  client_.times.forget();
  if (in_force_.undone != nullptr) return;
  // A stored plan that serves for the present default width comes into force, or stays.
  const StepModel& step = *client_.step.model();
  if (const std::optional<bool> exact = in_force_.plan.replay_instead(stored, step)) {
    client_.phase = Phase::kTuned;
    comparison_.stop();
    exploration_.stop();
    in_force_.guard.spend_credit();
    client_.step.restart();
    client_.step.prefer_marker(step.marker().place);
    client_.decision = *exact ? "the stored plan for so many cores is in force"
                              : "the stored plan is in force, as far as it fits in so many cores";
    in_force_.guard.begin(in_force_.plan);
    return;
  }
  in_force_.plan.drop_replay();
  // Bounds that come from outside are no habit of the program's.
  exploration_.forget_rounds();
  restart();
}

// What is stored may have a width for it, and none may be set any more.
void WidthTuning::on_op_left_alone(uint64_t key) {
  const bool had_width =
      in_force_.plan.leave_entry({key, 0}, Rule::kLeftAlone, step_in_force(client_));
  if (had_width) client_.pages.on_changed();
  if (client_.step.model() == nullptr) return;
  if (had_width) in_force_.settled = true;
  exploration_.leave_alone(*client_.step.model());
  client_.pages.on_changed();
}

// While other threads compute as well no width can be told from another. What was settled before
// stays in force, as a bound; the guard looks at steps that the thread has for itself.
void WidthTuning::on_co_runners_changed() {
  if (client_.step.model() == nullptr || !client_.environment.options().may_change_widths) return;
  if (!client_.concurrency.usual()) {
    if (client_.phase == Phase::kTuned && client_.decision == kSharedText) restart();
  } else if (client_.phase == Phase::kExploring || client_.phase == Phase::kComparing) {
    keep_default_widths(kSharedText);
  }
}

// ---- from exploring to a plan in force ---------------------------------------------------------

// Caps are in the next page at once, since widths not below the default width are never written.
// What was sampled stays, so that exploring again costs little; a program that keeps changing its
// width gets no more than the cap.
void WidthTuning::restart() {
  client_.pages.on_changed();
  if (in_force_.undone != nullptr) return;
  if (exploration_.rounds() < kMostExplorations) {
    start();
  } else if (client_.phase != Phase::kTuned) {
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
  in_force_.plan.choose({});
  StepModel& step = *client_.step.model();
  if (client_.environment.usable_cases().empty()) {
    settle(own_candidate(client_.environment, step), "there is no narrower width to try");
    return;
  }
  if (comparison_.begin_caps(step)) {
    client_.phase = Phase::kComparing;
    client_.pages.demand();
  } else {
    explore();
  }
}

void WidthTuning::explore() {
  client_.phase = Phase::kExploring;
  exploration_.begin(*client_.step.model());
  client_.pages.demand();
  if (exploration_.is_over()) compare();
}

void WidthTuning::compare() {
  exploration_.stop();
  if (auto verdict = comparison_.begin(*client_.step.model())) {
    settle(std::move(verdict->winner), std::move(verdict->decision));
    return;
  }
  client_.phase = Phase::kComparing;
  client_.pages.demand();
}

void WidthTuning::on_page_ended() {
  if (client_.phase == Phase::kExploring) {
    exploration_.close_page(*client_.step.model());
    client_.pages.demand();
    if (exploration_.is_over()) compare();
  } else if (client_.phase == Phase::kComparing) {
    auto verdict = comparison_.close_page(*client_.step.model());
    const bool is_of_caps = verdict && verdict->among_caps && explores_beside_caps(client_);
    if (!verdict) {
      client_.pages.demand();
    } else if (is_of_caps && verdict->winner.uniform_width == 0) {
      explore();
    } else {
      // A cap that won is in force at once. More can be found only where ops are wider than one
      // thread, and once it can be afforded.
      const bool asks = is_of_caps && verdict->winner.uniform_width > 1;
      settle(std::move(verdict->winner), std::move(verdict->decision));
      if (asks) in_force_.guard.ask_exploration();
    }
  } else {
    const bool lost = in_force_.guard.close_page();
    client_.pages.on_changed();
    if (lost) {
      in_force_.forget = true;
      in_force_.plan.drop_replay();
      std::string decision = in_force_.guard.roll_back(client_.steps.count());
      if (client_.step.model() == nullptr) {
        client_.decision = std::move(decision);  // the step is still being looked for
      } else {
        keep_default_widths(std::move(decision));
      }
    } else {
      make_guard_page(client_, in_force_);
    }
  }
}

void WidthTuning::settle(Candidate candidate, std::string decision) {
  in_force_.plan.choose(std::move(candidate));
  client_.decision = std::move(decision);
  client_.phase = Phase::kTuned;
  comparison_.stop();
  exploration_.stop();
  in_force_.settled = true;
  client_.step.stop_recognition(true);
  client_.times.tuned = {};
  const double compared = comparison_.own_seconds();
  in_force_.guard.begin(in_force_.plan.chosen(),
                        comparison_.seconds_of(in_force_.plan.chosen()).value_or(0),
                        compared > 0 ? compared : seconds(client_.times.own.median()));
  client_.pages.on_changed();
}

// For now: nothing that is worth to be stored.
void WidthTuning::keep_default_widths(std::string decision) {
  settle(own_candidate(client_.environment, *client_.step.model()), std::move(decision));
  in_force_.settled = false;
}

// ---- in force ----------------------------------------------------------------------------------

void WidthTuning::on_step(const StepEvent& event) {
  if (event.overlapped) return;
  const bool guards = client_.environment.options().guard;
  if (event.column) {
    if (in_force_.guard.has_page() && guards) in_force_.guard.on_step(event);
    if (client_.phase == Phase::kComparing) comparison_.record(*event.column, event.duration);
    return;
  }
  if (!guards) return;
  in_force_.guard.on_step(event);
  if (!in_force_.guard.has_page()) make_guard_page(client_, in_force_);
  if (client_.phase != Phase::kTuned || client_.step.watching() || in_force_.undone != nullptr)
    return;
  const bool clipped = in_force_.plan.replay_is_clipped();
  const bool replayed = in_force_.plan.replayed() != nullptr;
  if (!in_force_.guard.earns_exploration(seconds(event.duration), clipped, replayed)) return;
  if (replayed) in_force_.plan.drop_replay();
  in_force_.guard.end();
  restart();
}

void WidthTuning::undo(const char* why) {
  in_force_.lent.drop_plan();
  in_force_.undone = why;
  in_force_.guard.drop_exploration();
  in_force_.plan.drop_replay();
  in_force_.guard.end();
  client_.pages.on_changed();
  if (client_.step.model() == nullptr) {
    client_.decision = why;
  } else {
    keep_default_widths(why);
  }
}

// ---- plan pages --------------------------------------------------------------------------------

void WidthTuning::add_to(PlanDraft& draft, bool enough_steps) const {
  const StepModel* step = client_.step.model();
  const bool tuned = client_.phase == Phase::kTuned;
  if (tuned || in_force_.plan.replayed() != nullptr) draft.binding = in_force_.plan.binding();
  const bool one_width =
      tuned && enough_steps && !in_force_.guard.has_page() && !client_.step.watching();
  const int width = one_width ? in_force_.plan.common_width() : 0;
  if (tuned && in_force_.lent.has_plan()) {
    in_force_.lent.add_to(draft);
  } else if (width != 0) {
    draft.default_width_cap = width;
    draft.flow = {OpFlow::Kind::kFree, width};
  } else if (tuned || in_force_.plan.replayed() != nullptr) {
    in_force_.plan.add_to(draft, client_.environment.options().may_change_widths ? step : nullptr);
  } else if (client_.phase == Phase::kExploring) {
    exploration_.add_to(draft, *step);
  } else if (client_.phase == Phase::kComparing) {
    comparison_.add_to(draft, *step);
  }
  in_force_.guard.add_to(draft);
  draft.schedule_length = static_cast<int>(draft.schedule_binding.size());
}

std::vector<PageColumn> WidthTuning::columns() const {
  if (client_.phase == Phase::kExploring) return exploration_.columns();
  if (client_.phase == Phase::kComparing) return comparison_.columns();
  return in_force_.guard.columns();
}

}  // namespace optile::tuner
