#include "tuner/session/session.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tuner/session/session_state.h"

namespace optile::tuner {

using perfmodel::Configuration;

namespace {

constexpr uint64_t kMostUnrecognised = uint64_t{1} << 20;  // ops, then events are switched off
constexpr int kForeignSteps = 8;       // steps of another length that start a watch
constexpr uint64_t kForeignOps = 256;  // ops beyond as many steps that pass without a marker
constexpr int kForeignMost = 4096;     // a watch in vain makes the next one rarer
constexpr uint64_t kWatchOps = 4 * PeriodDetector::kLongestStep;
constexpr double kChangeShare = 0.02;  // of an execution: a change of width this small is noise
constexpr std::chrono::microseconds kDearChange{50};  // assumed until it was measured
constexpr int kLostPage = 2 * kPageSteps;  // steps without a column: the whole schedule was dropped
constexpr std::size_t kPagesKept = 4;
constexpr double kLoopSteps = 32;    // as many steps' ops before a step is called a loop
constexpr double kLoopShare = 0.15;  // of all ops outside its even repetitions
constexpr int kLoopReturns = 3;      // from odd repetitions to even ones
constexpr int kMostLoops = 6;        // then the step is taken as it is

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

Session::Session(SessionOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Session::~Session() = default;

void Session::set_runtime(perfmodel::Runtime runtime) {
  state_->set_runtime(runtime);
}
void Session::set_default_width(int width, bool bounded) {
  state_->set_default_width(width, bounded);
}
void Session::add_op(perfmodel::OpDescription op) {
  state_->add_op(std::move(op));
}
void Session::on_op(const OpEvent& event) {
  state_->on_op(event);
}
void Session::on_step(const StepEvent& event) {
  state_->on_step(event);
}
void Session::on_issuer_changed() {
  state_->on_issuer_changed();
}
void Session::on_progress(uint64_t ops_begun, uint32_t steps_begun) {
  state_->on_progress(ops_begun, steps_begun);
}
void Session::on_declared_steps(uint32_t steps) {
  state_->on_declared_steps(steps);
}
void Session::set_cases(std::vector<Configuration> cases, int cores) {
  state_->set_cases(std::move(cases), cores);
}
void Session::set_bounds(std::vector<Configuration> cases, int cores, int default_width,
                         const std::optional<StoredPlan>& stored) {
  state_->set_bounds(std::move(cases), cores, default_width, stored);
}
void Session::on_page_bounds_changed() {
  state_->on_page_bounds_changed();
}
void Session::set_lent(bool lent, std::optional<StoredPlan> known) {
  state_->set_lent(lent, std::move(known));
}
void Session::on_surroundings_changed() {
  state_->on_surroundings_changed();
}
void Session::on_entry_disabled(const perfmodel::OpPlace& place, perfmodel::Nanoseconds under_entry,
                                perfmodel::Nanoseconds at_default_width) {
  state_->on_entry_disabled(place, under_entry, at_default_width);
}
void Session::undo(uint64_t key) {
  state_->undo(key);
}

bool Session::asks_to_count() const {
  return state_->asks_to_count();
}
void Session::allow_counting() {
  state_->allow_counting();
}
void Session::leave_to_user() {
  state_->undo(0, "every op runs at the program's default width: you said so");
}
bool Session::take_forgotten() {
  return state_->take_forgotten();
}
std::optional<PlanDraft> Session::take_plan(uint64_t number) {
  return state_->take_plan(number);
}
std::optional<Session::Settled> Session::take_settled() {
  return state_->take_settled();
}
std::vector<double> Session::step_seconds_by_cores(int most) const {
  return state_->step_seconds_by_cores(most);
}
SessionSummary Session::session_summary() const {
  return state_->session_summary();
}
SessionView Session::view(Detail detail) const {
  return state_->view(detail);
}
const std::map<uint64_t, perfmodel::OpDescription>& Session::ops() const {
  return state_->ops();
}

// ---- events ------------------------------------------------------------------------------------

void Session::State::set_runtime(perfmodel::Runtime runtime) {
  if (runtime == runtime_) return;
  runtime_ = runtime;
  assume_switching_cost();
}

void Session::State::assume_switching_cost() {
  if (!cost_.measured()) cost_ = perfmodel::SwitchingCost(runtime_, default_width_);
}

void Session::State::add_op(perfmodel::OpDescription op) {
  const uint64_t key = op.key;
  const bool left = op.observed_only();
  ops_[key] = std::move(op);
  if (!left) return;
  // What is stored may have a width for it, and none may be set any more.
  const bool had_a_width = leave_entry({key, 0}, Rule::kLeftAlone);
  if (had_a_width) changed();
  if (model_ == nullptr) return;
  if (had_a_width) settled_ready_ = true;
  mark_left_alone();
  for (Site& site : model_->sites()) {
    if (site.leave) site.search.reset();
  }
  changed();
}

void Session::State::on_op(const OpEvent& event) {
  if (default_width_ == 0 && event.default_width && event.width > 0)
    set_default_width(event.width, bounded_);
  note_page_progress(event.plan, event.column, false);
  if (count_markers_ && model_ && model_->marker().is(event.place)) ++steps_;
  const bool was_usual = concurrency_.usual();
  concurrency_.on_op(event.overlapped);
  if (concurrency_.usual() != was_usual) co_runners_changed();
  const bool rested = rests_unsteered();
  if (default_width_ == 0) ++unsteered_ops_;
  watch_sequence(event);
  rest_if_unsteered(rested);
  take_sample(event);
}

// While other threads compute as well no width can be told from another. What was settled before
// stays in force, as a bound; the guard looks at steps that the thread has for itself.
void Session::State::co_runners_changed() {
  if (model_ == nullptr || !options_.may_change_widths) return;
  if (!concurrency_.usual()) {
    if (phase_ == Phase::kTuned && decision_ == kSharedText) restart_exploring();
  } else if (phase_ == Phase::kExploring || phase_ == Phase::kComparing) {
    settle(own_candidate(), kSharedText);
    settled_ready_ = false;
  }
}

void Session::State::on_issuer_changed() {
  recogniser_.restart();
  if (model_ != nullptr && is_silent()) begin_watch();
}

// While whole steps are compared only ops with a width of their own are told of: their sequence is
// none of the program's. on_step() and on_progress() see when it turns to something else.
void Session::State::watch_sequence(const OpEvent& event) {
  if (gave_up_ || (is_silent() && !watching_)) return;
  if (recogniser_.observe(event.place, event.begin, event.duration) ==
      PeriodDetector::Change::kFound) {
    step_found();
    return;
  }
  if (watching_ && recogniser_.observed() > watch_limit_) {
    watching_ = false;
    recogniser_.restart();
    foreign_needed_ = std::min(kForeignMost, foreign_needed_ * 4);
    changed();
  }
  if (model_ == nullptr && recogniser_.observed() > kMostUnrecognised) {
    gave_up_ = true;
    recogniser_.restart();
    decision_ = "no repeating step was found, so every op runs at the program's default width";
    changed();
  }
}

void Session::State::take_sample(const OpEvent& event) {
  const auto page = pages_.find(event.plan);
  if (page != pages_.end() && page->second.counts) return;
  const bool alone = model_ != nullptr && !event.overlapped;
  Site* site = alone ? model_->find(event.place) : nullptr;
  if (site != nullptr) ++(event.steerable ? site->steerable_seen : site->unsteerable_seen);
  if (site != nullptr && event.width > 0) {
    const Configuration at{event.width, event.binding};
    if (event.first_touch) {
      const auto [touch, fresh] = site->samples.touched.emplace(at, event.duration);
      if (!fresh) touch->second = std::min(touch->second, event.duration);
    } else if (holds_a_change(event)) {
      site->samples.with_change[at].add(event.duration);
    } else {
      site->samples.profile.record(at, event.duration);
      ++samples_;
    }
  }
  if (event.width > 1) team_before_ = event.width;
}

// A team that had to be built inside the op: a short op would be charged for it.
bool Session::State::holds_a_change(const OpEvent& event) const {
  if (event.width <= 1 || team_before_ == 0 || team_before_ == event.width) return false;
  perfmodel::Nanoseconds price = cost_.typical();
  if (!cost_.measured()) price = std::max<perfmodel::Nanoseconds>(price, kDearChange);
  return static_cast<double>(price.count()) >
         kChangeShare * static_cast<double>(event.duration.count());
}

void Session::State::allow_counting() {
  options_.counting_waits = false;
  changed();
}

void Session::State::on_step(const StepEvent& event) {
  if (event.plan < marker_since_) return;
  // The first one ends a step that was counted when it began, unless a stored plan knew its marker.
  if (!count_markers_ || model_ == nullptr) ++steps_;
  count_markers_ = false;
  if (may_have_rested_ && latest_step_ != 0 && event.step > latest_step_ + 1) {
    unwatched_steps_ += event.step - latest_step_ - 1;
    guard_.on_unwatched_steps(event.step - latest_step_ - 1);
  }
  latest_step_ = event.step;
  // It may still be at rest by a page that has been replaced meanwhile.
  if (event.plan >= number_) may_have_rested_ = taken_ && taken_->may_rest;
  progress_at_step_ = progress_;
  if (step_is_a_loop(event)) {
    look_for_a_longer_step();
    return;
  }
  const bool was_usual = concurrency_.usual();
  concurrency_.on_step(event.overlapped);
  if (concurrency_.usual() != was_usual) co_runners_changed();
  const bool rested = rests_unsteered();
  count_step(event);
  rest_if_unsteered(rested);
  note_page_progress(event.plan, event.column, true);
  watch_for_another_step(event);
  if (phase_ == Phase::kObserving) {
    ++observed_steps_;
    changed();
  }
}

void Session::State::count_step(const StepEvent& event) {
  budget_.on_step(event.duration);
  coverage_.add(event.duration, event.observed, event.steerable);
  if (event.mixed) return;
  const auto page = pages_.find(event.plan);
  const bool known = page != pages_.end();
  if (known && page->second.lent) return;
  if (known && page->second.counts) {
    if (++counted_steps_ == options_.counted_steps) changed();
    return;
  }
  if (!event.column) {
    const bool planned = known && page->second.base_is_plan;
    if (!planned) {
      own_steps_.add(event.duration);
    } else if (phase_ == Phase::kTuned) {
      tuned_steps_.add(event.duration);
      if (tuned_steps_.count() == kHeardSteps) changed();
    }
    if (planned) guard_step(event, std::nullopt);
    return;
  }
  count_scheduled_step(event);
}

void Session::State::count_scheduled_step(const StepEvent& event) {
  const auto page = pages_.find(event.plan);
  const bool known = page != pages_.end();
  const int column = *event.column;
  if (!known || column < 0 || column >= static_cast<int>(page->second.columns.size())) return;
  switch (page->second.columns[static_cast<std::size_t>(column)]) {
    case Column::kControl:
      own_steps_.add(event.duration);
      (guard_page_.empty() ? trial_controls_ : control_steps_).add(event.duration);
      break;
    case Column::kUniform:
      uniform_steps_.add(event.duration);
      [[fallthrough]];
    case Column::kTrial:
      ++sampled_steps_;
      sampled_seconds_ += std::chrono::duration<double>(event.duration).count();
      [[fallthrough]];
    case Column::kCandidate:
      if (own_steps_.count() > 0) budget_.on_trial(event.duration, own_step());
      break;
    case Column::kPlan:
      break;
  }
  if (event.plan == number_ && !guard_page_.empty()) guard_step(event, column);
  if (event.overlapped) return;
  if (event.plan != number_ || phase_ != Phase::kComparing || comparison_ == nullptr) return;
  comparison_->record(column, event.duration);
  if (column >= 1 && column < static_cast<int>(comparison_page_.size())) {
    const int candidate = comparison_page_[static_cast<std::size_t>(column)];
    candidate_steps_[static_cast<std::size_t>(candidate)].add(event.duration);
    if (candidate == 0) control_steps_.add(event.duration);
  }
}

// A schedule is over when its last step ended, when steps without a column follow ones with, or
// when so many steps passed under the page that its columns must all have been dropped.
void Session::State::note_page_progress(uint64_t plan, std::optional<int> column, bool step_ended) {
  const bool searching = phase_ == Phase::kExploring || phase_ == Phase::kComparing;
  if (!searching && guard_page_.empty()) return;
  if (plan == 0 || plan != number_ || taken_version_ != version_) return;
  const int length = taken_ ? taken_->schedule_length : 0;
  if (length == 0) return;
  if (column) {
    column_seen_ = true;
    if (step_ended && *column == length - 1) page_ended();
    return;
  }
  if (step_ended) ++steps_without_column_;
  if (column_seen_ || steps_without_column_ > kLostPage) page_ended();
}

// Ops with a schedule aside, no op is told.
bool Session::State::is_silent() const {
  return phase_ == Phase::kTuned || phase_ == Phase::kComparing || rests_unsteered();
}

// Where nothing can be steered there is nothing to listen for, but that the program turns to
// something else.
void Session::State::rest_if_unsteered(bool rested) {
  if (rested || !rests_unsteered()) return;
  recogniser_.restart();
  if (model_) recogniser_.prefer(model_->marker().place);
  foreign_steps_ = 0;
  progress_at_step_ = progress_;
  changed();
}

// Silent sessions get no op events; the number of ops in a step tells when the program does
// something else.
void Session::State::watch_for_another_step(const StepEvent& event) {
  if (!is_silent() || watching_ || model_ == nullptr) return;
  const int expected = model_->marker().ops;
  const int off = static_cast<int>(event.ops) - expected;
  foreign_steps_ = std::abs(off) > std::max(2, expected / 10) ? foreign_steps_ + 1 : 0;
  if (foreign_needed_ == 0) foreign_needed_ = kForeignSteps;
  if (foreign_steps_ < foreign_needed_) return;
  // Much longer ones: what is known as the step is a loop inside it.
  if (off > expected / 2) recogniser_.set_shortest(static_cast<std::size_t>(expected) + 1);
  begin_watch();
}

// No step for as many ops as several steps have: the marker does not come any more. Where no step
// is known a part of all ops is listened to.
void Session::State::on_progress(uint64_t ops_begun, uint32_t steps_begun) {
  progress_ = ops_begun;
  steps_begun_ = steps_begun;
  if (progress_at_step_ > progress_ || progress_at_step_ == 0) progress_at_step_ = progress_;
  if (!is_silent() || watching_ || (model_ == nullptr && !rests_unsteered())) return;
  if (foreign_needed_ == 0) foreign_needed_ = kForeignSteps;
  const uint64_t step = model_ ? static_cast<uint64_t>(model_->marker().ops) : kWatchOps;
  const uint64_t enough = static_cast<uint64_t>(foreign_needed_) * step + kForeignOps;
  if (progress_ - progress_at_step_ < enough) return;
  progress_at_step_ = progress_;
  begin_watch();
}

// The marker of a loop comes evenly while the loop runs, and then not for as long as the rest of
// the real step takes: a good part of all ops lies in steps of another length.
bool Session::State::step_is_a_loop(const StepEvent& event) {
  if (model_ == nullptr || event.mixed || loops_found_ >= kMostLoops) return false;
  const double expected = model_->marker().ops;
  const double off = std::abs(static_cast<double>(event.ops) - expected);
  const bool odd = off > std::max(2.0, expected / 10);
  (odd ? odd_ops_ : even_ops_) += static_cast<double>(event.ops);
  if (!odd && after_odd_) ++returns_;
  after_odd_ = odd;
  const double all = even_ops_ + odd_ops_;
  if (all < kLoopSteps * expected) return false;
  // A program that turned to something else does not come back to the even repetitions.
  const bool loop = odd_ops_ > kLoopShare * all && returns_ >= kLoopReturns;
  even_ops_ /= 2;
  odd_ops_ /= 2;
  return loop;
}

void Session::State::look_for_a_longer_step() {
  ++loops_found_;
  returns_ = 0;
  after_odd_ = false;
  even_ops_ = 0;
  odd_ops_ = 0;
  // The last try takes whatever repeats: some programs simply vary.
  const auto longer = static_cast<std::size_t>(model_->marker().ops) * 2;
  recogniser_.set_shortest(loops_found_ < kMostLoops ? longer : 1);
  recogniser_.restart();
  replay_.reset();
  replay_verified_ = false;
  watching_ = false;
  comparison_.reset();
  trial_ = {};
  in_force_ = Candidate{};
  model_.reset();
  phase_ = Phase::kRecognising;
  end_guard();
  own_steps_ = {};
  control_steps_ = {};
  uniform_steps_ = {};
  tuned_steps_ = {};
  trial_controls_ = {};
  sampled_steps_ = 0;
  sampled_seconds_ = 0;
  budget_.on_bounds_changed();
  silent_before_ = false;
  decision_ = "what repeated was a loop inside the step; a longer step is looked for";
  changed();
}

void Session::State::begin_watch() {
  if (phase_ == Phase::kComparing) {
    settle(own_candidate(), "the program turned to another step while whole steps were compared");
    settled_ready_ = false;
  }
  foreign_steps_ = 0;
  watching_ = true;
  recogniser_.restart();
  watch_limit_ = kWatchOps;
  changed();
}

std::optional<PlanDraft> Session::State::take_plan(uint64_t number) {
  if (taken_version_ == version_) return std::nullopt;
  taken_version_ = version_;
  PlanDraft draft = make_draft();
  if (taken_ && draft == *taken_ && !page_due_) return std::nullopt;
  page_due_ = false;
  if (!taken_ || taken_->marker != draft.marker) {
    marker_since_ = number;
    latest_step_ = 0;
  }
  may_have_rested_ = may_have_rested_ || draft.may_rest;
  taken_ = draft;
  number_ = number;
  column_seen_ = false;
  steps_without_column_ = 0;
  Page page;
  const bool replaying = replay_.has_value();
  page.base_is_plan = replaying || phase_ == Phase::kTuned;
  page.counts = draft.count;
  page.lent = lent_;
  if (phase_ == Phase::kExploring) {
    for (bool control : trial_.control) {
      page.columns.push_back(control ? Column::kControl : Column::kTrial);
    }
  } else if (phase_ == Phase::kComparing) {
    for (int index : comparison_page_) {
      const auto kind = candidates_[static_cast<std::size_t>(index)].kind;
      page.columns.push_back(kind == Candidate::Kind::kOwn       ? Column::kControl
                             : kind == Candidate::Kind::kUniform ? Column::kUniform
                                                                 : Column::kCandidate);
    }
  }
  for (bool own : guard_page_) page.columns.push_back(own ? Column::kControl : Column::kPlan);
  pages_[number] = std::move(page);
  while (pages_.size() > kPagesKept) pages_.erase(pages_.begin());
  return draft;
}

}  // namespace optile::tuner
