// How many whole steps the program has made: from markers while ops are told, from step events
// afterwards, and those that passed unwatched between two of them. Owned by the session; one
// thread.
#pragma once

#include <cstdint>

#include "tuner/steps/step_tracker.h"

namespace optile::tuner {

class StepCounter {
 public:
  // An op that starts a step of the known kind.
  void on_marker() { count_ += counts_markers_ ? 1u : 0u; }
  // The step of that number ended; how many passed unwatched since the one before. `known`: which
  // step the program repeats.
  uint32_t on_step(uint32_t number, bool known) {
    // The first one ends a step that was counted when it began, unless a stored plan knew its
    // marker.
    if (!counts_markers_ || !known) ++count_;
    counts_markers_ = false;
    const bool skipped = may_have_rested_ && latest_ != 0 && number > latest_ + 1;
    const uint32_t unwatched = skipped ? number - latest_ - 1 : 0;
    unwatched_ += unwatched;
    latest_ = number;
    return unwatched;
  }
  // The client is at the present page. It may still rest by one that has been replaced meanwhile.
  void set_resting(bool rests) { may_have_rested_ = rests; }
  // A page is out. Steps before one with another marker were others.
  void on_page(uint64_t number, bool other_marker, bool rests) {
    if (other_marker) {
      marker_since_ = number;
      latest_ = 0;
    }
    may_have_rested_ = may_have_rested_ || rests;
  }
  bool knows(uint64_t plan) const { return plan >= marker_since_; }
  // Another step is known from now on. `outer`: the one before was a loop inside it, and no step.
  // `counted`: by a stored marker, from the first on.
  void on_other_step(const StepTracker& steps, bool outer, bool counted) {
    if (outer) unwatched_ = 0;
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
  uint32_t unwatched() const {
    // The latest one that began has not ended.
    const bool rests = may_have_rested_ && latest_ != 0 && begun_ > latest_ + 1;
    return unwatched_ + (rests ? begun_ - latest_ - 1 : 0);
  }
  uint32_t all() const { return declared_ > 0 ? declared_ : count_ + unwatched(); }

 private:
  uint32_t count_ = 0;
  bool counts_markers_ = true;    // a step counts when it begins, until step events come
  uint32_t unwatched_ = 0;        // before the latest step event
  uint32_t latest_ = 0;           // number of that event's step
  bool may_have_rested_ = false;  // the client, since that event
  uint64_t marker_since_ = 0;     // the first page with the present marker
  uint32_t begun_ = 0, declared_ = 0;
};

}  // namespace optile::tuner
