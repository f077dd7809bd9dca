#include "tuner/session/session_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::tuner {

using perfmodel::Configuration;

namespace {

constexpr uint32_t kObservedSteps = 50;                 // with events of every op, in observe mode
constexpr uint64_t kMostUnsteered = uint64_t{1} << 16;  // ops heard where none can be steered
constexpr int kMostExplorations = 4;  // a width or a budget that keeps changing is only a cap

// What an op loses at its planned width, as a share of its time at the own one; 0 = nothing.
double loss(double own_ns, double planned_ns) {
  return own_ns > 0 ? std::max(0.0, planned_ns / own_ns - 1) : 0;
}

using Descriptions = std::map<uint64_t, perfmodel::OpDescription>;

bool observed_only(const Descriptions& ops, uint64_t key) {
  const auto known = ops.find(key);
  return known != ops.end() && known->second.observed_only();
}

// Regions that were observed when the plan was made may be tuned now, and the other way round.
bool steers_as_now(const StoredPlan& plan, const Descriptions& ops) {
  bool all_left = !plan.entries.empty();
  bool may_now = false;
  for (const StoredEntry& entry : plan.entries) {
    const auto known = ops.find(entry.place.key);
    const bool region = known != ops.end() && known->second.region;
    all_left = all_left && entry.rule == Rule::kLeftAlone;
    may_now = may_now || (region && !known->second.observed_only());
    // One that hung has only lost its own entry.
    const bool lost = region && known->second.tuning != perfmodel::OpDescription::kTuned;
    if (lost && entry.width != 0) return false;
  }
  return !(all_left && may_now);
}

}  // namespace

Session::State::State(SessionOptions options) : options_(std::move(options)) {
  recogniser_.set_least_span(options_.least_repeating);
  if (options_.may_change_widths && options_.stored) begin_replay();
}

// ---- recognition and replay --------------------------------------------------------------------

// The stored plan is in force from the first op on; the sequence is verified while it runs.
void Session::State::begin_replay() {
  replay_ = options_.stored;
  known_times_ = options_.stored->times;
  recogniser_.prefer(replay_->marker.place);
  guard_replay();
}

bool Session::State::replay_fits() const {
  return replay_ && model_->fingerprint() == replay_->step_fingerprint &&
         model_->marker().place == replay_->marker.place && steers_as_now(*replay_, ops_) &&
         (default_width_ == 0 || default_width_ == replay_->default_width || replay_clipped());
}

// It was made for more cores than the program may use now.
bool Session::State::replay_clipped() const {
  return replay_ && bounded_ && default_width_ > 0 && default_width_ < replay_->default_width;
}

void Session::State::step_found() {
  auto fresh = std::make_unique<StepModel>(*recogniser_.step());
  const bool same = model_ && model_->marker().place == fresh->marker().place &&
                    model_->order() == fresh->order() &&
                    model_->fingerprint() == fresh->fingerprint();
  if (same) {
    // The program came back to the step that is known.
    if (watching_) {
      watching_ = false;
      foreign_needed_ = foreign_needed_ * 4;
      recogniser_.restart();
      changed();
    }
    return;
  }
  watching_ = false;
  // What was tuned until now was a loop inside the real step: its rounds were no steps.
  if (model_ && fresh->holds_loop(*model_)) {
    silent_before_ = false;
    unwatched_steps_ = 0;
  }
  if (model_) fresh->adopt_samples(*model_);
  model_ = std::move(fresh);
  ++steps_found_;
  lent_plan_.reset();  // it was about the step before
  count_steps_so_far();
  changed();
  if (!options_.may_change_widths) {
    phase_ = Phase::kObserving;
    return;
  }
  if (replay_fits()) {
    replay_verified_ = true;
    phase_ = Phase::kTuned;
    decision_ = "the stored plan fits this program's step and is in force";
    recogniser_.restart();
    return;
  }
  replay_.reset();
  replay_verified_ = false;
  end_guard();
  explorations_ = 0;
  if (default_width_ <= 0) return;
  if (rollbacks_.empty() && undone_ == nullptr) {
    start_tuning();
  } else {
    // What was stored lost already: searching waits until it can be afforded.
    settle(own_candidate(), undone_ != nullptr ? undone_ : decision_);
    settled_ready_ = false;
  }
}

// Another step is known from now on. Those of a tuned one before it were steps too; what was
// counted while nothing was settled was a part of the present one. The recogniser remembers the
// latest; those before come from the number of ops.
void Session::State::count_steps_so_far() {
  if (replay_ && steps_ > 0) return;  // counted from the first on, by the stored marker
  const uint64_t begun = recogniser_.steps_begun();
  if (silent_before_) {
    steps_ += static_cast<uint32_t>(begun);
  } else {
    const uint64_t remembered =
        std::min<uint64_t>(recogniser_.observed(), PeriodDetector::kHistory);
    const uint64_t forgotten = progress_ - std::min(progress_, remembered);
    steps_ = static_cast<uint32_t>(begun + forgotten / static_cast<uint64_t>(model_->marker().ops));
  }
  count_markers_ = true;
}

void Session::State::set_default_width(int width, bool bounded) {
  if (width <= 0 || width == default_width_) return;
  if (rests_unsteered()) {
    watching_ = false;
    recogniser_.restart();
  }
  default_width_ = width;
  assume_switching_cost();
  bounded_ = bounded;
  changed();
  if (!options_.may_change_widths || model_ == nullptr) return;
  if (replay_) {
    if (default_width_ == replay_->default_width || replay_clipped()) return;
    replay_.reset();
    replay_verified_ = false;
  }
  end_guard();
  restart_exploring();
}

void Session::State::set_cases(std::vector<Configuration> cases, int cores) {
  if (cases == options_.cases && cores == options_.cores) return;
  options_.cases = std::move(cases);
  options_.cores = cores;
  on_surroundings_changed();
  if (!options_.may_change_widths || model_ == nullptr || default_width_ == 0 || replay_) return;
  end_guard();
  restart_exploring();
}

void Session::State::set_bounds(std::vector<Configuration> cases, int cores, int default_width,
                                const std::optional<StoredPlan>& stored) {
  page_due_ = page_due_ || cases != options_.cases || cores != options_.cores;
  if (page_due_) changed();
  if (default_width == default_width_) {
    set_cases(std::move(cases), cores);
    return;
  }
  options_.cases = std::move(cases);
  options_.cores = cores;
  default_width_ = default_width;
  bounded_ = true;
  lent_plan_.reset();  // it was for as many cores as the former ones and those lent
  changed();
  if (!options_.may_change_widths || model_ == nullptr || default_width_ <= 0) return;
  end_guard();
  // Steps at other widths: no measure for the present ones.
  own_steps_ = {};
  control_steps_ = {};
  uniform_steps_ = {};
  tuned_steps_ = {};
  budget_.on_bounds_changed();
  if (undone_ != nullptr || replay_under(stored)) return;
  replay_.reset();
  replay_verified_ = false;
  // Bounds that come from outside are no habit of the program's.
  explorations_ = 0;
  restart_exploring();
}

void Session::State::on_page_bounds_changed() {
  page_due_ = true;
  changed();
}

// A stored plan that serves for the present default width comes into force, or stays.
bool Session::State::replay_under(const std::optional<StoredPlan>& stored) {
  std::optional<StoredPlan> before = std::exchange(replay_, stored);
  const bool exact = replay_fits() && replay_->default_width == default_width_;
  if (!exact) replay_ = std::move(before);
  if (!replay_fits()) return false;
  replay_verified_ = true;
  phase_ = Phase::kTuned;
  comparison_.reset();
  trial_ = {};
  explore_credit_ = 0;
  recogniser_.restart();
  recogniser_.prefer(model_->marker().place);
  decision_ = exact ? "the stored plan for so many cores is in force"
                    : "the stored plan is in force, as far as it fits in so many cores";
  guard_replay();
  return true;
}

// Caps are in the next page at once, since widths that are not below the own one are never written.
// What was sampled stays, so that exploring again costs little; a program that keeps changing its
// width gets no more than the cap.
void Session::State::restart_exploring() {
  changed();
  if (undone_ != nullptr) return;
  if (explorations_ >= kMostExplorations) {
    if (phase_ != Phase::kTuned) settle(own_candidate(), "the program keeps changing its width");
    return;
  }
  start_tuning();
}

void Session::State::start_tuning() {
  if (concurrency_.usual()) {
    settle(own_candidate(), kSharedText);
    settled_ready_ = false;
    return;
  }
  ++explorations_;
  comparison_.reset();
  replanned_ = false;
  trials_ = 0;
  in_force_ = Candidate{};
  explore();
}

// ---- settling ----------------------------------------------------------------------------------

void Session::State::mark_left_alone() {
  for (Site& site : model_->sites()) {
    site.leave = observed_only(ops_, site.place.key) || cannot_be_set(site);
  }
}

void Session::State::settle(Candidate candidate, std::string decision) {
  in_force_ = std::move(candidate);
  decision_ = std::move(decision);
  silent_before_ = true;
  phase_ = Phase::kTuned;
  comparison_.reset();
  trial_ = {};
  settled_ready_ = true;
  recogniser_.restart();
  if (model_) recogniser_.prefer(model_->marker().place);
  foreign_steps_ = 0;
  tuned_steps_ = {};
  guard_settled();
  changed();
}

void Session::State::page_ended() {
  if (phase_ == Phase::kExploring) {
    close_trial_page();
  } else if (phase_ != Phase::kComparing) {
    guard_page_ended();
  } else {
    close_comparison_page();
  }
}

// ---- plan pages --------------------------------------------------------------------------------

bool Session::State::records_all() const {
  switch (phase_) {
    case Phase::kRecognising:
      return watching_ || (!gave_up_ && !rests_unsteered());
    case Phase::kExploring:
      return true;
    case Phase::kComparing:
      return false;  // whole steps are compared as they will run later
    case Phase::kObserving:
      return observed_steps_ < kObservedSteps;
    case Phase::kTuned:
      return watching_;
  }
  return false;
}

// Behind the search and the first steps under its plan: neither they nor the guard, which hears of
// no counted step, wait for counters. Counts explain widths: where none can be set they are read
// only for who asked for them.
bool Session::State::has_use_for_counts() const {
  if (watching_ || lent_ || !guard_page_.empty()) return false;
  if (counted_steps_ >= options_.counted_steps) return false;
  if (phase_ == Phase::kObserving) return true;
  if (phase_ == Phase::kTuned) {
    return tuned_steps_.count() >= kHeardSteps &&
           (options_.counts_in_any_case || steers_something());
  }
  return options_.counts_in_any_case && phase_ == Phase::kRecognising && model_ &&
         default_width_ == 0;
}

// Some op of the step could run at another width than the program's own.
bool Session::State::steers_something() const {
  return model_ && !usable_cases().empty() &&
         std::any_of(model_->sites().begin(), model_->sites().end(), [&](const Site& site) {
           return !observed_only(ops_, site.place.key) && !cannot_be_set(site);
         });
}

// Nothing met so far has a width that can be set, and enough of it was heard. What an op's own
// width is the client tells by itself, as soon as there is one.
bool Session::State::rests_unsteered() const {
  if (phase_ != Phase::kRecognising || default_width_ != 0) return false;
  return unsteered_ops_ >= kMostUnsteered || (model_ && own_steps_.count() >= kHeardSteps);
}

// As many steps as the figures of a run need, whatever comes later.
bool Session::State::heard_enough() const {
  if (phase_ == Phase::kTuned) return !watching_ && tuned_steps_.count() >= kHeardSteps;
  if (rests_unsteered()) return !watching_ && own_steps_.count() >= kHeardSteps;
  return phase_ == Phase::kObserving && own_steps_.count() >= kHeardSteps;
}

// The same of the plan that is in force, where nothing but that width stands in the page.
int Session::State::width_in_force() const {
  if (!guard_page_.empty() || watching_) return 0;
  if (!replay_) return phase_ == Phase::kTuned ? common_width(in_force_, default_width_) : 0;
  if (replay_->binding != perfmodel::Binding::kNone || replay_->entries.empty()) return 0;
  const int width = replay_->entries.front().width;
  const bool same = std::all_of(replay_->entries.begin(), replay_->entries.end(),
                                [&](const StoredEntry& entry) { return entry.width == width; });
  return same && replay_verified_ && fits(width, default_width_) ? width : 0;
}

// With one width for all, or everything at the program's own, there is nothing to do at an op.
bool Session::State::may_rest(const PlanDraft& draft) const {
  return heard_enough() && !draft.record_all && draft.schedule_length == 0 &&
         draft.binding == perfmodel::Binding::kNone &&
         std::all_of(draft.entries.begin(), draft.entries.end(),
                     [](const PlanEntry& entry) { return entry.width == 0; });
}

PlanDraft Session::State::make_draft() const {
  PlanDraft draft;
  draft.count = !options_.counting_waits && has_use_for_counts();
  draft.record_all = records_all() || draft.count;
  draft.record_nested = draft.record_all && phase_ == Phase::kObserving;
  if (model_) {
    draft.marker = model_->marker();
  } else if (replay_) {
    draft.marker = replay_->marker;
  }
  if (phase_ == Phase::kExploring) {
    draft.schedule_binding = trial_.bindings;
  } else if (phase_ == Phase::kComparing) {
    for (int index : comparison_page_) {
      draft.schedule_binding.push_back(candidates_[static_cast<std::size_t>(index)].binding);
    }
  } else if (phase_ == Phase::kTuned) {
    draft.binding = in_force_.binding;
  }
  if (replay_) draft.binding = replay_->binding;
  for (bool own : guard_page_) {
    draft.schedule_binding.push_back(own ? perfmodel::Binding::kNone : draft.binding);
  }
  draft.schedule_length = static_cast<int>(draft.schedule_binding.size());
  if (lent_plan_ && phase_ == Phase::kTuned) {
    add_lent_entries(draft);
  } else if (const int width = heard_enough() ? width_in_force() : 0; width != 0) {
    draft.default_width_cap = width;
  } else {
    add_entries(draft);
  }
  draft.may_rest = may_rest(draft);
  return draft;
}

void Session::State::add_entries(PlanDraft& draft) const {
  add_planned_entries(draft);
  if (guard_page_.empty()) return;
  for (PlanEntry& entry : draft.entries) {
    if (entry.width == 0) continue;
    for (bool own : guard_page_) entry.schedule.push_back(own ? 0 : entry.width);
  }
}

void Session::State::add_planned_entries(PlanDraft& draft) const {
  if (replay_) {
    for (const StoredEntry& entry : replay_->entries) {
      if (entry.rule == Rule::kLeftAlone || observed_only(ops_, entry.place.key)) {
        draft.entries.push_back({entry.place, 0, Rule::kLeftAlone, true, {}, {}});
      } else if (fits(entry.width, default_width_)) {
        draft.entries.push_back({entry.place,
                                 entry.width,
                                 Rule::kReplayed,
                                 false,
                                 {},
                                 perfmodel::Nanoseconds(std::llround(entry.own_ns)),
                                 loss(entry.own_ns, entry.planned_ns)});
      }
    }
    return;
  }
  if (!model_ || !options_.may_change_widths || phase_ == Phase::kRecognising) return;
  for (std::size_t i = 0; i < model_->sites().size(); ++i) {
    const Site& site = model_->sites()[i];
    PlanEntry entry;
    entry.place = site.place;
    if (site.leave) {
      entry.leave = true;
      entry.rule = Rule::kLeftAlone;
      draft.entries.push_back(std::move(entry));
      continue;
    }
    const auto clipped = [&](int width) { return fits(width, default_width_) ? width : 0; };
    if (phase_ == Phase::kExploring && !trial_.empty()) {
      for (int width : trial_.widths[i]) entry.schedule.push_back(clipped(width));
    } else if (phase_ == Phase::kComparing) {
      for (int index : comparison_page_) {
        const Candidate& candidate = candidates_[static_cast<std::size_t>(index)];
        entry.schedule.push_back(clipped(candidate.plan.widths[i]));
      }
    } else if (phase_ == Phase::kTuned && i < in_force_.plan.widths.size()) {
      entry.width = clipped(in_force_.plan.widths[i]);
      if (entry.width != 0) {
        entry.rule = in_force_.plan.rules[i];
        const auto* own = site.samples.profile.find(own_case());
        if (own != nullptr) entry.baseline = own->median();
        const auto planned =
            perfmodel::Curve(site.samples.profile).at({entry.width, in_force_.binding});
        if (own != nullptr && planned) {
          entry.accepted_loss = loss(static_cast<double>(entry.baseline.count()),
                                     static_cast<double>(planned->time.count()));
        }
      }
    }
    const bool idle = std::all_of(entry.schedule.begin(), entry.schedule.end(),
                                  [](int width) { return width == 0; });
    if (entry.width != 0 || !idle) draft.entries.push_back(std::move(entry));
  }
}

}  // namespace optile::tuner
