// What searching may cost a program at any moment of its run: a small free amount, and a share of
// the time that it has run so far. Steps at other widths than its own, in trials and comparisons,
// are paid from it; while it is overdrawn the program runs at its default widths. So a short run
// loses as little, in relation, as a long one. Pure, one thread; owned by a session.
#pragma once

#include <chrono>

namespace optile::tuner {

class TrialBudget {
 public:
  using Seconds = std::chrono::duration<double>;
  // May be lost however short the program and its steps are.
  static constexpr Seconds kFree{0.1};

  // The program made a step, at whatever widths.
  void on_step(Seconds duration) { ran_ += duration; }
  // A step of those ran at other widths; at the program's own it takes `own`.
  void on_trial(Seconds duration, Seconds own) { lost_ += duration - own; }
  // Other cores or bounds: what was lost before says nothing about them, but stays lost.
  void on_bounds_changed();

  // That may be lost now; negative where more was lost than allowed.
  Seconds credit() const;
  // Lost under the present bounds.
  Seconds lost() const { return lost_; }
  // 1 to `most` steps of `own` each, after which `loss` can be afforded. `own` = 0, not known yet:
  // enough to know it.
  int steps_to_earn(Seconds loss, Seconds own, int most) const;

 private:
  Seconds ran_{0}, lost_{0}, lost_before_{0};
};

}  // namespace optile::tuner
