// Finds the step of a program: the period in the sequence of op places of its issuing thread.
// Works on op events alone, since nobody can count steps before a marker is known.
//
// Keeps one lag, the distance to the latest earlier occurrence of an op, for as long as every op
// equals the one that far back. A step is found after two whole repetitions, three when it is
// short. An inner loop (the time steps of a recurrent layer) looks like a step
// until it ends, so it must also hold most of the places that were met again, and most places must
// have been met again, or it must go on for very long. A step is withdrawn when its marker stays
// away, and replaced by a longer one whose repetitions it does not explain. Extra or missing ops
// only delay recognition: the lag is found again behind them. Where they come evenly, as from a
// program that prints its loss every tenth step, ten steps and the extra op repeat as well: a
// shorter period that nearly all ops keep is then the step. Pure, bounded memory. Owned by one
// session, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "perfmodel/profile/op.h"
#include "perfmodel/profile/profile.h"
#include "tuner/plan/plan.h"
#include "tuner/steps/op_history.h"

namespace optile::tuner {

// A step as it repeats: its marker and the places from the marker on.
struct RecognisedStep {
  Marker marker;
  std::vector<perfmodel::OpPlace> sequence;
};

// Over the keys of a step, in order from its marker: equal steps of two runs have equal ones.
uint64_t step_fingerprint(const std::vector<perfmodel::OpPlace>& sequence);

class PeriodDetector {
 public:
  static constexpr std::size_t kLongestStep = 16384;  // longer ones are never found

  enum class Change { kNone, kFound, kLost };

  // A marker to choose when it occurs once in the step (the stored plan's).
  void prefer(perfmodel::OpPlace marker) { preferred_ = marker; }
  Change observe(perfmodel::OpPlace place, perfmodel::Nanoseconds begin,
                 perfmodel::Nanoseconds duration);
  // Shorter steps are not looked for: they turned out to be inner loops. Outlives restart().
  void set_shortest(std::size_t ops) { shortest_ = ops; }
  // A repetition has to last this long: loops inside a step are over sooner. Outlives restart().
  void set_least_span(perfmodel::Nanoseconds span) { least_span_ = span; }
  // nullptr while none is known.
  const RecognisedStep* step() const { return step_ ? &*step_ : nullptr; }
  // Forgets everything but the preferred marker and the shortest length, and frees the memory.
  void restart();
  uint64_t observed() const { return history_.total(); }
  // Steps begun since restart(), as far as remembered; 0 while none is known.
  uint64_t steps_begun() const;

 private:
  void follow_lag(perfmodel::OpPlace place);
  bool follow_marker(perfmodel::OpPlace place);
  bool worth_adopting() const;
  bool explains_what_was_seen() const;
  bool adopt();

  std::optional<perfmodel::OpPlace> preferred_;
  std::optional<RecognisedStep> step_;
  OpHistory history_;
  std::size_t shortest_ = 1;
  perfmodel::Nanoseconds least_span_{0};
  uint64_t lag_ = 0;      // 0 = none
  uint64_t matched_ = 0;  // ops in a row that equal the one `lag_` before
  // The step in force: ops since its marker, and how well its length explains the latest ops.
  uint64_t since_marker_ = 0;
  uint64_t explained_ = 0;    // ops in intervals about as long as the step
  uint64_t unexplained_ = 0;  // ops in other intervals; both halve as they grow
};

}  // namespace optile::tuner
