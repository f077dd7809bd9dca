#include "tuner/session/session.h"

#include <utility>

#include "tuner/session/plan_draft.h"

namespace optile::tuner {

using perfmodel::Configuration;

namespace {

// Where nothing can be steered there is nothing to listen for, but that the program turns to
// something else. `rested`: before the event.
void rest_if_unsteered(ClientRecord& client, const WidthTuning& tuning, bool rested) {
  if (rested || !rests_unsteered(client, tuning)) return;
  client.step.rest(false);
  client.pages.on_changed();
}

void follow_sequence(ClientRecord& client, WidthTuning& tuning, const OpEvent& event) {
  const bool silent = is_silent(client, tuning);
  const auto change = client.step.on_op(event.place, event.begin, event.duration, silent);
  switch (change) {
    case StepTracker::Change::kNone:
      return;
    case StepTracker::Change::kWatchEnded:
      client.pages.on_changed();
      return;
    case StepTracker::Change::kGaveUp:
      tuning.on_step_not_found();
      return;
    case StepTracker::Change::kStep:
    case StepTracker::Change::kOuterStep:
      client.steps.on_other_step(client.step, change == StepTracker::Change::kOuterStep,
                                 tuning.plan().replayed() != nullptr);
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
                     bool planned) {
  if (!planned) {
    client.times.own.add(event.duration);
    return;
  }
  if (tuning.phase() == Phase::kTuned) {
    client.times.tuned.add(event.duration);
    if (client.times.tuned.count() == kHeardSteps) client.pages.on_changed();
  }
  tuning.on_plan_step(event);
}

void count_scheduled_step(ClientRecord& client, WidthTuning& tuning, const StepEvent& event,
                          const std::vector<PageColumn>& columns) {
  const int column = *event.column;
  if (column < 0 || column >= static_cast<int>(columns.size())) return;
  StepTimes& times = client.times;
  switch (columns[static_cast<std::size_t>(column)]) {
    case PageColumn::kControl:
      times.own.add(event.duration);
      (tuning.guard().has_page() ? times.control : times.trial_controls).add(event.duration);
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
  if (event.plan == client.pages.number()) tuning.on_scheduled_step(event);
}

void count_step(ClientRecord& client, WidthTuning& tuning, const StepEvent& event) {
  client.times.budget.on_step(event.duration);
  client.times.coverage.add(event.duration, event.observed, event.steerable);
  if (event.mixed) return;
  const PublishedPage* page = client.pages.find(event.plan);
  if (page != nullptr && page->lent) return;
  if (page != nullptr && page->counts) {
    const uint32_t most = client.environment.options().counted_steps;
    if (++client.times.counted == most) client.pages.on_changed();
  } else if (!event.column) {
    count_base_step(client, tuning, event, page != nullptr && page->base_is_plan);
  } else if (page != nullptr) {
    count_scheduled_step(client, tuning, event, page->columns);
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
      tuning_(client_),
      curve_(options.may_change_widths && options.stored ? std::move(options.stored->times)
                                                         : std::vector<StoredTime>()) {}

// ---- what the client is ------------------------------------------------------------------------

void Session::set_runtime(perfmodel::Runtime runtime) {
  client_.environment.set_runtime(runtime);
}

void Session::set_default_width(int width, bool bounded) {
  if (width <= 0 || width == client_.environment.default_width()) return;
  if (rests_unsteered(client_, tuning_)) {
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
  tuning_.set_lent(lent, std::move(known));
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
  tuning_.on_surroundings_changed();
}

bool Session::asks_to_count() const {
  return client_.environment.options().counting_waits && has_use_for_counts(client_, tuning_);
}

void Session::allow_counting() {
  client_.environment.allow_counting();
  client_.pages.on_changed();
}

// ---- events ------------------------------------------------------------------------------------

void Session::on_op(const OpEvent& event) {
  if (client_.environment.default_width() == 0 && event.default_width && event.width > 0)
    set_default_width(event.width, client_.environment.bounded());
  if (tuning_.runs_schedule() && client_.pages.ends_schedule(event.plan, event.column, false))
    tuning_.on_page_ended();
  const StepModel* step = client_.step.model();
  if (step != nullptr && step->marker().is(event.place)) client_.steps.on_marker();
  hear_overlap(event.overlapped, &ConcurrencyDetector::on_op);
  const bool rested = rests_unsteered(client_, tuning_);
  if (client_.environment.default_width() == 0) ++client_.unsteered_ops;
  follow_sequence(client_, tuning_, event);
  rest_if_unsteered(client_, tuning_, rested);
  take_sample(client_, event);
}

void Session::on_step(const StepEvent& event) {
  if (!client_.steps.knows(event.plan)) return;
  const uint32_t unwatched = client_.steps.on_step(event.step, client_.step.model() != nullptr);
  if (unwatched > 0) tuning_.on_unwatched_steps(unwatched);
  if (event.plan >= client_.pages.number()) {
    client_.steps.set_resting(client_.pages.latest() && client_.pages.latest()->may_rest);
  }
  if (client_.step.on_step(event.ops, event.mixed)) {
    tuning_.leave_loop();
    return;
  }
  hear_overlap(event.overlapped, &ConcurrencyDetector::on_step);
  const bool rested = rests_unsteered(client_, tuning_);
  count_step(client_, tuning_, event);
  rest_if_unsteered(client_, tuning_, rested);
  if (tuning_.runs_schedule() && client_.pages.ends_schedule(event.plan, event.column, true))
    tuning_.on_page_ended();
  if (is_silent(client_, tuning_) && client_.step.on_silent_step(event.ops)) tuning_.begin_watch();
  if (tuning_.phase() == Phase::kObserving) {
    ++client_.times.observed;
    client_.pages.on_changed();
  }
}

void Session::hear_overlap(bool overlapped, void (ConcurrencyDetector::*hear)(bool)) {
  const bool was_usual = client_.concurrency.usual();
  (client_.concurrency.*hear)(overlapped);
  if (client_.concurrency.usual() != was_usual) tuning_.on_co_runners_changed();
}

void Session::on_issuer_changed() {
  client_.step.restart();
  if (client_.step.model() != nullptr && is_silent(client_, tuning_)) tuning_.begin_watch();
}

// While whole steps are compared only ops with a width of their own are told of: their sequence is
// none of the program's. Steps and the number of ops tell when it turns to something else.
void Session::on_progress(uint64_t ops_begun, uint32_t steps_begun) {
  client_.steps.on_progress(steps_begun);
  const bool known = client_.step.model() != nullptr || rests_unsteered(client_, tuning_);
  if (client_.step.on_progress(ops_begun, known && is_silent(client_, tuning_))) {
    tuning_.begin_watch();
  }
}

void Session::on_declared_steps(uint32_t steps) {
  client_.steps.on_declared(steps);
}

void Session::on_entry_disabled(const perfmodel::OpPlace& place, perfmodel::Nanoseconds under_entry,
                                perfmodel::Nanoseconds at_default_width) {
  tuning_.on_entry_disabled(place, under_entry, at_default_width);
}

void Session::undo(uint64_t key) {
  tuning_.undo(key, nullptr);
}

void Session::leave_to_user() {
  tuning_.undo(0, "every op runs at the program's default width: you said so");
}

// ---- what comes of it --------------------------------------------------------------------------

std::optional<PlanDraft> Session::take_plan(uint64_t number) {
  if (!client_.pages.is_outdated()) return std::nullopt;
  PlanDraft draft = draft_plan(client_, tuning_);
  const bool other_marker =
      !client_.pages.latest() || client_.pages.latest()->marker != draft.marker;
  if (!client_.pages.accept(draft)) return std::nullopt;
  client_.steps.on_page(number, other_marker, draft.may_rest);
  client_.pages.publish(number, draft, describe_page(tuning_, draft));
  return draft;
}

bool Session::take_forgotten() {
  return tuning_.take_forgotten();
}

std::vector<double> Session::step_seconds_by_cores(int most) const {
  return curve_.seconds_by_cores(client_, tuning_.phase(), most);
}

const std::map<uint64_t, perfmodel::OpDescription>& Session::ops() const {
  return client_.environment.ops();
}

}  // namespace optile::tuner
