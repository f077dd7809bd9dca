// How many whole steps the program has made: from markers while ops are told, from step events
// afterwards, and those that passed unsampled between two of them. Owned by the session; one
// thread.
#pragma once

#include <cstdint>

#include "tuner/steps/step_tracker.h"

namespace optile::tuner {

class StepCounter {
 public:
  // An op that starts a step of the known kind.
  void on_marker() { count_ += counts_markers_ ? 1u : 0u; }
  // The step of that number ended; how many passed unsampled since the one before. `known`: which
  // step the program repeats.
  uint32_t on_step(uint32_t number, bool known) {
    // The first one ends a step that was counted when it began, unless a stored plan knew its
    // marker.
    if (!counts_markers_ || !known) ++count_;
    counts_markers_ = false;
    const bool skipped = may_have_paused_ && latest_ != 0 && number > latest_ + 1;
    const uint32_t unsampled = skipped ? number - latest_ - 1 : 0;
    unsampled_ += unsampled;
    latest_ = number;
    return unsampled;
  }
  // The client is at the present page. Its sampling may still be paused by one that has been
  // replaced meanwhile.
  void set_sampling_paused(bool paused) { may_have_paused_ = paused; }
  // A page is out. Steps before one with another marker were others.
  void on_page(uint64_t number, bool other_marker, bool pauses) {
    if (other_marker) {
      marker_since_ = number;
      latest_ = 0;
    }
    may_have_paused_ = may_have_paused_ || pauses;
  }
  bool knows(uint64_t plan) const { return plan >= marker_since_; }
  // Another step is known from now on. `outer`: the one before was a loop inside it, and no step.
  // `counted`: by a stored marker, from the first on.
  void on_other_step(const StepTracker& steps, bool outer, bool counted) {
    if (outer) unsampled_ = 0;
    if (counted && count_ > 0) return;
    count_ = static_cast<uint32_t>(steps.steps_begun(count_));
    counts_markers_ = true;
  }
  // As the client counts them.
  void on_progress(uint32_t begun) { begun_ = begun; }
  // The program marks its steps itself; 0 = it does not.
  void on_declared(uint32_t steps) { declared_ = steps; }

  // That were watched.
  uint32_t count() const { return count_; }
  uint32_t unsampled() const {
    // The latest one that began has not ended.
    const bool paused = may_have_paused_ && latest_ != 0 && begun_ > latest_ + 1;
    return unsampled_ + (paused ? begun_ - latest_ - 1 : 0);
  }
  uint32_t all() const { return declared_ > 0 ? declared_ : count_ + unsampled(); }

 private:
  uint32_t count_ = 0;
  bool counts_markers_ = true;    // a step counts when it begins, until step events come
  uint32_t unsampled_ = 0;        // before the latest step event
  uint32_t latest_ = 0;           // number of that event's step
  bool may_have_paused_ = false;  // the client, since that event
  uint64_t marker_since_ = 0;     // the first page with the present marker
  uint32_t begun_ = 0, declared_ = 0;
};

}  // namespace optile::tuner
