#include "tuner/steps/step_tracker.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace optile::tuner {
namespace {

constexpr uint64_t kMostUnrecognised = uint64_t{1} << 20;  // ops, then events are switched off
constexpr std::size_t kMostDifferentSteps = 256;           // the same, of an unordered program
constexpr int kForeignSteps = 8;       // steps of another length that start a watch
constexpr uint64_t kForeignOps = 256;  // ops beyond as many steps that pass without a marker
constexpr int kForeignMost = 4096;     // a watch in vain makes the next one rarer

}  // namespace

StepTracker::StepTracker(perfmodel::Nanoseconds least_repeating) {
  detector_.set_least_span(least_repeating);
}

StepTracker::Change StepTracker::on_op(perfmodel::OpPlace place, perfmodel::Nanoseconds begin,
                                       perfmodel::Nanoseconds duration, bool silent) {
  if (gave_up_ || (silent && !watching_)) return Change::kNone;
  if (unordered_) {
    sets_.add(place);
  } else if (detector_.observe(place, begin, duration) == PeriodDetector::Change::kFound) {
    return accept_step(*detector_.step());
  }
  if (watching_ && (detector_.observed() > kWatchOps || sets_.steps() > kWatchSteps)) {
    watching_ = false;
    restart();
    foreign_needed_ = std::min(kForeignMost, foreign_needed_ * 4);
    return Change::kWatchEnded;
  }
  if (model_ == nullptr &&
      (detector_.observed() > kMostUnrecognised || sets_.steps() > kMostDifferentSteps)) {
    gave_up_ = true;
    restart();
    return Change::kGaveUp;
  }
  return Change::kNone;
}

void StepTracker::set_unordered() {
  if (unordered_) return;
  unordered_ = true;
  restart();
}

StepTracker::Change StepTracker::on_declared_step(bool silent) {
  if (!unordered_ || gave_up_ || (silent && !watching_)) return Change::kNone;
  return sets_.end_step() ? accept_step(sets_.step()) : Change::kNone;
}

void StepTracker::restart() {
  detector_.restart();
  sets_.restart();
}

StepTracker::Change StepTracker::accept_step(const RecognisedStep& step) {
  auto fresh = std::make_unique<StepModel>(step);
  const bool same = model_ && model_->marker().place == fresh->marker().place &&
                    model_->order() == fresh->order() &&
                    model_->fingerprint() == fresh->fingerprint();
  if (same) {
    // The program came back to the step that is known.
    if (!watching_) return Change::kNone;
    watching_ = false;
    foreign_needed_ = foreign_needed_ * 4;
    restart();
    return Change::kWatchEnded;
  }
  watching_ = false;
  // What was tuned until now was a loop inside the real step: its rounds were no steps.
  const bool outer = model_ && fresh->holds_loop(*model_);
  if (outer) settled_ = false;
  if (model_) fresh->adopt_samples(*model_);
  model_ = std::move(fresh);
  ++steps_found_;
  return outer ? Change::kOuterStep : Change::kStep;
}

bool StepTracker::on_step(uint32_t ops, bool mixed) {
  progress_at_step_ = progress_;
  return model_ != nullptr && !mixed && !unordered_ && loop_.on_step(ops, model_->marker().ops);
}

bool StepTracker::on_silent_step(uint32_t ops) {
  if (watching_ || model_ == nullptr) return false;
  const int expected = model_->marker().ops;
  const int off = static_cast<int>(ops) - expected;
  foreign_steps_ = std::abs(off) > std::max(2, expected / 10) ? foreign_steps_ + 1 : 0;
  if (foreign_needed_ == 0) foreign_needed_ = kForeignSteps;
  if (foreign_steps_ < foreign_needed_) return false;
  // Much longer ones: what is known as the step is a loop inside it.
  if (off > expected / 2) detector_.set_shortest(static_cast<std::size_t>(expected) + 1);
  return true;
}

// Where no step is known a part of all ops is listened to.
bool StepTracker::on_progress(uint64_t ops_begun, bool silent) {
  progress_ = ops_begun;
  if (progress_at_step_ > progress_ || progress_at_step_ == 0) progress_at_step_ = progress_;
  if (!silent || watching_) return false;
  if (foreign_needed_ == 0) foreign_needed_ = kForeignSteps;
  const uint64_t step = model_ ? static_cast<uint64_t>(model_->marker().ops) : kWatchOps;
  const uint64_t enough = static_cast<uint64_t>(foreign_needed_) * step + kForeignOps;
  if (progress_ - progress_at_step_ < enough) return false;
  progress_at_step_ = progress_;
  return true;
}

void StepTracker::begin_watch() {
  foreign_steps_ = 0;
  watching_ = true;
  restart();
}

// The last try takes whatever repeats: some programs simply vary.
void StepTracker::leave_loop() {
  loop_.on_loop_found();
  const auto longer = static_cast<std::size_t>(model_->marker().ops) * 2;
  detector_.set_shortest(loop_.is_exhausted() ? 1 : longer);
  restart();
  watching_ = false;
  settled_ = false;
  model_.reset();
}

void StepTracker::stop_recognition(bool settled) {
  restart();
  if (model_) detector_.prefer(model_->marker().place);
  foreign_steps_ = 0;
  if (settled) {
    settled_ = true;
  } else {
    progress_at_step_ = progress_;
  }
}

// The detector remembers the latest; those before come from the number of ops.
uint64_t StepTracker::steps_begun(uint64_t counted) const {
  const uint64_t begun = detector_.steps_begun();
  if (settled_) return counted + begun;
  const uint64_t remembered = std::min<uint64_t>(detector_.observed(), OpHistory::kMost);
  const uint64_t forgotten = progress_ - std::min(progress_, remembered);
  return begun + forgotten / static_cast<uint64_t>(model_->marker().ops);
}

}  // namespace optile::tuner
