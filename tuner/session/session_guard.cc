// The plan in force is held to its word: controls, rollback, undo, exploring again.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tuner/session/session_state.h"

namespace optile::tuner {

using perfmodel::Nanoseconds;
using perfmodel::OpPlace;

namespace {

constexpr uint64_t kContextOps = 8;        // after which an op's context no longer shows the start
constexpr double kExploreShare = 0.01;     // of the time, that exploring again may take
constexpr double kExplorePrice = 8;        // in steps: what an exploration may lose
constexpr double kNewStepLevel = 1.15;     // of the steps' time, since the last exploration
constexpr std::size_t kMostRollbacks = 2;  // of whole plans; then the client is left alone
constexpr std::size_t kMostRemembered = 64;

}  // namespace

// ---- when a plan comes into force --------------------------------------------------------------

void Session::State::guard_settled() {
  end_guard();
  if (!options_.guard || !options_.may_change_widths) return;
  double promised = 0;
  double own = seconds(own_steps_.median());
  for (std::size_t i = 0; i < candidates_.size() && i < candidate_steps_.size(); ++i) {
    const double median = seconds(candidate_steps_[i].median());
    if (i == 0 && median > 0) own = median;
    if (candidates_[i].kind == in_force_.kind &&
        candidates_[i].plan.widths == in_force_.plan.widths) {
      promised = median;
    }
  }
  if (changes_something(in_force_, default_width_)) {
    guard_.begin(promised, own, options_.seed);
  } else {
    guard_.watch();
  }
  explored_at_level_ = 1;
}

void Session::State::end_guard() {
  guard_.end();
  guard_page_.clear();
}

void Session::State::guard_replay() {
  if (!options_.guard) return;
  const bool changes = replay_->binding != perfmodel::Binding::kNone ||
                       std::any_of(replay_->entries.begin(), replay_->entries.end(),
                                   [](const StoredEntry& entry) { return entry.width != 0; });
  if (changes) {
    // What was promised with more cores says nothing now.
    const double known = replay_clipped() ? 0 : 1;
    guard_.begin(known * replay_->tuned_step_seconds, known * replay_->own_step_seconds,
                 options_.seed);
  } else {
    guard_.watch();
  }
}

// ---- while it is in force ----------------------------------------------------------------------

// Every whole step under the plan, and those of the guard's own pages.
void Session::State::guard_step(const StepEvent& event, std::optional<int> column) {
  if (!options_.guard || event.overlapped) return;
  const double step = seconds(event.duration);
  if (column) {
    guard_.on_page_step(*column, step);
    return;
  }
  // The first one initialises, and until the context is what it is in every step, entries that have
  // one are not met.
  const bool plan_is_met = event.step > 1 && uint64_t{event.step - 1} * event.ops > kContextOps;
  if (plan_is_met) guard_.on_plan_step(step);
  if (guard_page_.empty()) next_guard_page();
  explore_again_if_due(step);
}

void Session::State::next_guard_page() {
  const bool in_force = replay_.has_value() || phase_ == Phase::kTuned;
  if (!in_force || watching_ || lent_ || concurrency_.usual()) return;
  guard_page_ = guard_.page();
  if (!guard_page_.empty()) changed();
}

void Session::State::guard_page_ended() {
  guard_page_.clear();
  guard_.page_ended();
  changed();
  if (guard_.lost()) {
    roll_back();
  } else {
    next_guard_page();
  }
}

void Session::State::roll_back() {
  rollbacks_.push_back({steps_, "plan", guard_.reason(), guard_.loss()});
  const std::string decision = "rolled back: " + guard_.reason();
  forget_ = true;
  explore_again_ = true;
  replay_.reset();
  replay_verified_ = false;
  guard_.end();
  changed();
  if (model_ == nullptr) {
    decision_ = decision;  // the step is still being looked for
    return;
  }
  settle(own_candidate(), decision);
  settled_ready_ = false;
}

// A search is worth a hundredth of the time; after a rollback, or when the steps' time changed for
// good while nothing was changed by us, it begins as soon as that much has passed. So it does for a
// plan that was made for more cores.
void Session::State::explore_again_if_due(double step) {
  if (phase_ != Phase::kTuned || watching_ || undone_ != nullptr) return;
  if (replay_clipped()) {
    explore_credit_ += kExploreShare * step;
    if (explore_credit_ < kExplorePrice * step) return;
    explore_credit_ = 0;
    replay_.reset();
    replay_verified_ = false;
    end_guard();
    restart_exploring();
    return;
  }
  if (replay_ || guard_.active()) return;
  const double level = guard_.level() / explored_at_level_;
  if (level > kNewStepLevel || level < 1 / kNewStepLevel) explore_again_ = true;
  if (!explore_again_) return;
  explore_credit_ += kExploreShare * step;
  if (explore_credit_ < kExplorePrice * step) return;
  explore_again_ = false;
  explore_credit_ = 0;
  explored_at_level_ = guard_.level();
  if (rollbacks_.size() >= kMostRollbacks) return;
  restart_exploring();
}

void Session::State::on_surroundings_changed() {
  guard_.on_surroundings_changed();
  if (phase_ == Phase::kTuned && guard_page_.empty()) next_guard_page();
}

// ---- single entries ----------------------------------------------------------------------------

// The op at that place, or wherever its key occurs, runs at the program's default width from now
// on.
bool Session::State::leave_entry(const OpPlace& place, Rule rule) {
  bool left = false;
  const auto meant = [&](const OpPlace& one) {
    return one.key == place.key && (place.context == 0 || one.context == place.context);
  };
  if (replay_) {
    for (StoredEntry& entry : replay_->entries) {
      if (!meant(entry.place) || entry.width == 0) continue;
      entry.width = 0;
      entry.rule = rule;
      left = true;
    }
  }
  if (model_ == nullptr || phase_ != Phase::kTuned) return left;
  for (std::size_t i = 0; i < in_force_.plan.widths.size(); ++i) {
    if (!meant(model_->sites()[i].place) || in_force_.plan.widths[i] == default_width_) continue;
    in_force_.plan.widths[i] = default_width_;
    in_force_.plan.rules[i] = rule;
    left = true;
  }
  return left;
}

void Session::State::on_entry_disabled(const OpPlace& place, Nanoseconds under_entry,
                                       Nanoseconds at_default_width) {
  if (!leave_entry(place, Rule::kRolledBack)) return;
  Rollback rollback;
  rollback.step = steps_;
  const auto known = ops_.find(place.key);
  rollback.what = known == ops_.end() ? "op" : known->second.name;
  rollback.loss_seconds = std::max(0.0, seconds(under_entry) - seconds(at_default_width));
  char text[160];
  std::snprintf(text, sizeof text,
                "slower under its entry than at the program's default width: %.4g against %.4g s",
                seconds(under_entry), seconds(at_default_width));
  rollback.reason = text;
  if (rollbacks_.size() < kMostRemembered) rollbacks_.push_back(std::move(rollback));
  settled_ready_ = model_ != nullptr;
  changed();
}

// `said`: the user wants it so from the start, and what is stored is none the worse for it.
void Session::State::undo(uint64_t key, const char* said) {
  if (key != 0) {
    undone_ops_.insert(key);
    if (lent_plan_) changed();
    if (leave_entry({key, 0}, Rule::kUndone)) {
      settled_ready_ = model_ != nullptr;
      changed();
    }
    return;
  }
  lent_plan_.reset();
  undone_ = said != nullptr ? said : kUndoneText;
  forget_ = forget_ || said == nullptr;
  explore_again_ = false;
  replay_.reset();
  replay_verified_ = false;
  end_guard();
  changed();
  if (model_ == nullptr) {
    decision_ = undone_;
    return;
  }
  settle(own_candidate(), undone_);
  settled_ready_ = false;
}

bool Session::State::take_forgotten() {
  return std::exchange(forget_, false);
}

}  // namespace optile::tuner
