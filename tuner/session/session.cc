#include "tuner/session/session.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tuner/session/plan_draft.h"

namespace optile::tuner {

using perfmodel::Configuration;

namespace {

// Where nothing can be steered there is nothing to listen for, but that the program turns to
// something else. `paused`: before the event.
void pause_if_unsteered(ClientRecord& client, bool paused) {
  if (paused || !pauses_unsteered(client)) return;
  client.step.stop_recognition(false);
  client.pages.on_changed();
}

// An executor that runs several ops at once is one program's own way, and no co-runners.
void note_overlap(ClientRecord& client, WidthTuning& tuning, bool overlapped,
                  void (ConcurrencyDetector::*hear)(bool)) {
  if (client.step.is_unordered()) return;
  const bool was_usual = client.concurrency.usual();
  (client.concurrency.*hear)(overlapped);
  if (client.concurrency.usual() != was_usual) tuning.on_co_runners_changed();
}

void follow_step(ClientRecord& client, const InForce& in_force, WidthTuning& tuning,
                 StepTracker::Change change) {
  switch (change) {
    case StepTracker::Change::kNone:
      return;
    case StepTracker::Change::kWatchEnded:
      client.pages.on_changed();
      return;
    case StepTracker::Change::kGaveUp:
      client.decision =
          "no repeating step was found, so every op runs at the program's default width";
      client.pages.on_changed();
      return;
    case StepTracker::Change::kStep:
    case StepTracker::Change::kOuterStep:
      client.steps.on_other_step(client.step, change == StepTracker::Change::kOuterStep,
                                 in_force.plan.replayed() != nullptr);
      tuning.on_step_found();
  }
}

void take_sample(ClientRecord& client, const OpEvent& event) {
  const PublishedPage* page = client.pages.find(event.plan);
  if (page != nullptr && page->counts) return;
  StepModel* step = event.overlapped ? nullptr : client.step.model();
  Site* site = step == nullptr ? nullptr : step->find(event.place);
  client.sampler.take(event, site, client.environment.switching_cost());
}

// A step outside of the schedule of its page, or under a page without one.
void count_base_step(ClientRecord& client, WidthTuning& tuning, const StepEvent& event,
                     const PublishedPage* page) {
  if (page == nullptr || !page->base_is_plan) {
    client.times.own.add(event.duration);
    return;
  }
  if (client.phase == Phase::kTuned) {
    client.times.tuned.add(event.duration);
    if (client.times.tuned.count() == kFewestSampledSteps) client.pages.on_changed();
  }
  tuning.on_step(event);
}

void count_scheduled_step(ClientRecord& client, const InForce& in_force, WidthTuning& tuning,
                          const StepEvent& event, const PublishedPage& page) {
  const int column = *event.column;
  if (column < 0 || column >= static_cast<int>(page.columns.size())) return;
  StepTimes& times = client.times;
  switch (page.columns[static_cast<std::size_t>(column)]) {
    case PageColumn::kControl:
      if (page.serial) {
        // Its ops passed one at a time, which costs what a trial does.
        if (times.own.count() > 0) times.budget.on_trial(event.duration, times.own_step());
        break;
      }
      times.own.add(event.duration);
      (in_force.guard.has_page() ? times.control : times.trial_controls).add(event.duration);
      break;
    case PageColumn::kUniform:
      times.uniform.add(event.duration);
      [[fallthrough]];
    case PageColumn::kTrial:
      ++times.sampled;
      times.sampled_seconds += std::chrono::duration<double>(event.duration).count();
      [[fallthrough]];
    case PageColumn::kCandidate:
      if (times.own.count() > 0) times.budget.on_trial(event.duration, times.own_step());
      break;
    case PageColumn::kPlan:
      break;
  }
  if (event.plan == client.pages.number()) tuning.on_step(event);
}

void count_step(ClientRecord& client, const InForce& in_force, WidthTuning& tuning,
                const StepEvent& event) {
  client.times.budget.on_step(event.duration);
  if (event.heard) client.times.coverage.add(event.duration, event.observed, event.steerable);
  if (event.mixed) return;
  const PublishedPage* page = client.pages.find(event.plan);
  if (page != nullptr && page->lent) return;
  if (page != nullptr && page->counts) {
    const uint32_t most = client.environment.options().counted_steps;
    if (++client.times.counted == most) client.pages.on_changed();
  } else if (!event.column) {
    count_base_step(client, tuning, event, page);
  } else if (page != nullptr) {
    count_scheduled_step(client, in_force, tuning, event, *page);
  }
}

}  // namespace

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kRecognising:
      return "recognising";
    case Phase::kExploring:
      return "exploring";
    case Phase::kComparing:
      return "comparing";
    case Phase::kTuned:
      return "tuned";
    case Phase::kObserving:
      return "observing";
  }
  return "unknown";
}

Session::Session(SessionOptions options)
    : client_{ClientEnvironment(options), StepTracker(options.least_repeating)},
      in_force_{PlanInForce(client_.environment), RegressionGuard(client_.environment),
                LentCores(client_.environment)},
      tuning_(client_, in_force_),
      curve_(options.may_change_widths && options.stored ? std::move(options.stored->times)
                                                         : std::vector<StoredTime>()) {}

// ---- what the client is ------------------------------------------------------------------------

void Session::set_runtime(perfmodel::Runtime runtime) {
  client_.environment.set_runtime(runtime);
}

void Session::set_default_width(int width, bool bounded) {
  if (width <= 0 || width == client_.environment.default_width()) return;
  if (pauses_unsteered(client_)) {
    client_.step.end_watch();
    client_.step.restart();
  }
  client_.environment.set_default_width(width, bounded);
  client_.environment.assume_switching_cost();
  client_.pages.on_changed();
  tuning_.on_default_width_changed();
}

void Session::set_cases(std::vector<Configuration> cases, int cores) {
  const SessionOptions& options = client_.environment.options();
  if (cases == options.cases && cores == options.cores) return;
  client_.environment.set_cases(std::move(cases), cores);
  tuning_.on_cases_changed();
}

void Session::set_bounds(std::vector<Configuration> cases, int cores, int default_width,
                         const std::optional<StoredPlan>& stored) {
  const SessionOptions& options = client_.environment.options();
  if (cases != options.cases || cores != options.cores) client_.pages.demand();
  if (default_width == client_.environment.default_width()) {
    set_cases(std::move(cases), cores);
    return;
  }
  client_.environment.set_cases(std::move(cases), cores);
  client_.environment.set_default_width(default_width, true);
  tuning_.on_bounds_changed(stored);
}

void Session::set_lent(bool lent, std::optional<StoredPlan> known) {
  const StepModel* step = client_.step.model();
  const bool serves = lent && known && step != nullptr && in_force_.undone == nullptr &&
                      in_force_.lent.serves(*known, *step);
  if (!in_force_.lent.set(lent, serves ? std::move(known) : std::nullopt)) return;
  client_.pages.demand();
  if (lent && in_force_.guard.has_page()) in_force_.guard.drop_page();
}

void Session::on_page_bounds_changed() {
  client_.pages.demand();
}

void Session::add_op(perfmodel::OpDescription op) {
  const uint64_t key = op.key;
  const bool left = op.observed_only();
  client_.environment.add_op(std::move(op));
  if (left) tuning_.on_op_left_alone(key);
}

void Session::on_surroundings_changed() {
  in_force_.guard.on_surroundings_changed();
  if (client_.phase == Phase::kTuned && !in_force_.guard.has_page())
    make_guard_page(client_, in_force_);
}

bool Session::asks_to_count() const {
  return client_.environment.options().counting_waits && has_use_for_counts(client_, in_force_);
}

void Session::allow_counting() {
  client_.environment.allow_counting();
  client_.pages.on_changed();
}

// ---- events ------------------------------------------------------------------------------------

void Session::on_op(const OpEvent& event) {
  if (client_.environment.default_width() == 0 && event.default_width && event.width > 0)
    set_default_width(event.width, client_.environment.bounded());
  if (runs_schedule(client_, in_force_) &&
      client_.pages.ends_schedule(event.plan, event.column, false))
    tuning_.on_page_ended();
  const StepModel* step = client_.step.model();
  if (step != nullptr && step->marker().is(event.place)) client_.steps.on_marker();
  note_overlap(client_, tuning_, event.overlapped, &ConcurrencyDetector::on_op);
  const bool paused = pauses_unsteered(client_);
  if (client_.environment.default_width() == 0) ++client_.unsteered_ops;
  follow_step(client_, in_force_, tuning_,
              client_.step.on_op(event.place, event.begin, event.duration, is_silent(client_)));
  pause_if_unsteered(client_, paused);
  take_sample(client_, event);
}

void Session::on_step(const StepEvent& event) {
  if (!client_.steps.knows(event.plan)) return;
  const uint32_t unsampled = client_.steps.on_step(event.step, client_.step.model() != nullptr);
  if (unsampled > 0) in_force_.guard.on_unsampled_steps(unsampled);
  if (event.plan >= client_.pages.number()) {
    client_.steps.set_sampling_paused(client_.pages.latest() &&
                                      client_.pages.latest()->may_pause_sampling);
  }
  if (client_.step.on_step(event.ops, event.mixed)) {
    tuning_.leave_loop();
    return;
  }
  if (event.heard)
    follow_step(client_, in_force_, tuning_, client_.step.on_declared_step(is_silent(client_)));
  note_overlap(client_, tuning_, event.overlapped, &ConcurrencyDetector::on_step);
  const bool paused = pauses_unsteered(client_);
  count_step(client_, in_force_, tuning_, event);
  pause_if_unsteered(client_, paused);
  if (runs_schedule(client_, in_force_) &&
      client_.pages.ends_schedule(event.plan, event.column, true))
    tuning_.on_page_ended();
  if (event.heard && is_silent(client_) && client_.step.on_silent_step(event.ops))
    tuning_.begin_watch();
  if (client_.phase == Phase::kObserving) {
    ++client_.times.observed;
    client_.pages.on_changed();
  }
}

void Session::on_issuer_changed() {
  client_.step.restart();
  if (client_.step.model() != nullptr && is_silent(client_)) tuning_.begin_watch();
}

// While whole steps are compared only ops with a width of their own are told of: their sequence is
// none of the program's. Steps and the number of ops tell when it turns to something else.
void Session::on_progress(uint64_t ops_begun, uint32_t steps_begun) {
  client_.steps.on_progress(steps_begun);
  const bool known = client_.step.model() != nullptr || pauses_unsteered(client_);
  if (client_.step.on_progress(ops_begun, known && is_silent(client_))) {
    tuning_.begin_watch();
  }
}

void Session::on_declared_steps(uint32_t steps) {
  client_.steps.on_declared(steps);
  if (steps > 0 && client_.environment.has_unordered_op()) client_.step.set_unordered();
}

void Session::on_entry_disabled(const perfmodel::OpPlace& place, perfmodel::Nanoseconds under_entry,
                                perfmodel::Nanoseconds at_default_width) {
  if (!in_force_.plan.leave_entry(place, Rule::kRolledBack, step_in_force(client_))) return;
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
  in_force_.guard.remember(std::move(rollback));
  in_force_.settled = client_.step.model() != nullptr;
  client_.pages.on_changed();
}

void Session::undo(uint64_t key) {
  if (key == 0) {
    in_force_.forget = true;
    tuning_.undo("undone by hand: every op runs at the program's default width");
    return;
  }
  in_force_.lent.undo(key);
  if (in_force_.lent.has_plan()) client_.pages.on_changed();
  if (in_force_.plan.leave_entry({key, 0}, Rule::kUndone, step_in_force(client_))) {
    in_force_.settled = client_.step.model() != nullptr;
    client_.pages.on_changed();
  }
}

void Session::leave_to_user() {
  tuning_.undo("every op runs at the program's default width: you said so");
}

// ---- what comes of it --------------------------------------------------------------------------

std::optional<PlanDraft> Session::take_plan(uint64_t number) {
  if (!client_.pages.is_outdated()) return std::nullopt;
  PlanDraft draft = draft_plan(client_, in_force_, tuning_);
  const bool other_marker =
      !client_.pages.latest() || client_.pages.latest()->marker != draft.marker;
  if (!client_.pages.accept(draft)) return std::nullopt;
  client_.steps.on_page(number, other_marker, draft.may_pause_sampling);
  client_.pages.publish(number, draft, describe_page(client_, in_force_, tuning_, draft));
  return draft;
}

bool Session::take_forgotten() {
  return std::exchange(in_force_.forget, false);
}

std::vector<double> Session::step_seconds_by_cores(int most) const {
  return curve_.seconds_by_cores(client_, client_.phase, most);
}

const std::map<uint64_t, perfmodel::OpDescription>& Session::ops() const {
  return client_.environment.ops();
}

}  // namespace optile::tuner
