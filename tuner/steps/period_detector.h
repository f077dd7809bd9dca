// Finds the step of a program: the period in the sequence of op places of its issuing thread.
// Works on op events alone, since nobody can count steps before a marker is known.
//
// Keeps one lag, the distance to the latest earlier occurrence of an op, for as long as every op
// equals the one that far back. A step is found after two whole repetitions, three when it is
// shorter than kShortStep. An inner loop (the time steps of a recurrent layer) looks like a step
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
#include <unordered_map>
#include <vector>

#include "perfmodel/profile/op.h"
#include "perfmodel/profile/profile.h"
#include "tuner/plan/plan.h"

namespace optile::tuner {

struct PlaceHash {
  std::size_t operator()(const perfmodel::OpPlace& place) const;
};

// A step as it repeats: its marker and the places from the marker on.
struct RecognisedStep {
  Marker marker;
  std::vector<perfmodel::OpPlace> sequence;
};

// Over the keys of a step, in order from its marker: equal steps of two runs have equal ones.
uint64_t step_fingerprint(const std::vector<perfmodel::OpPlace>& sequence);

class PeriodDetector {
 public:
  static constexpr std::size_t kHistory = 32768;      // latest ops remembered
  static constexpr std::size_t kLongestStep = 16384;  // longer ones are never found
  static constexpr std::size_t kShortStep = 64;
  static constexpr std::size_t kTinyStep = 16;  // such ones have to repeat for kShortStep ops
  // Repetitions that need no other evidence; or that many ops, so many times what went before.
  static constexpr std::size_t kCertainRepetitions = 64;
  static constexpr std::size_t kCertainOps = 512;
  static constexpr std::size_t kCertainLead = 4;
  // Ops that must keep a shorter period for it to be the step of a longer one.
  static constexpr double kNearlyAll = 0.8;
  // Places that are met once without saying anything: contexts take eight ops to fill at the start
  // of the recording and behind every extra op.
  static constexpr std::size_t kStrayPlaces = 16;

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
  uint64_t observed() const { return total_; }
  // Steps begun since restart(), as far as remembered; 0 while none is known.
  uint64_t steps_begun() const;

 private:
  struct Seen {
    perfmodel::OpPlace place;
    int64_t begin_ns = 0;
    int64_t gap_ns = 0;  // idle time before it
  };

  const Seen& back(uint64_t position) const { return history_[position % kHistory]; }
  void follow_lag(perfmodel::OpPlace place);
  void remember(perfmodel::OpPlace place, int64_t begin_ns, int64_t gap_ns);
  perfmodel::Nanoseconds repeating_for() const;
  void forget_old_places();
  bool follow_marker(perfmodel::OpPlace place);
  bool worth_adopting() const;
  bool explains_what_was_seen() const;
  bool adopt();
  struct Stretch {
    uint64_t begin = 0;
    std::size_t length = 0;
  };
  Stretch repetition() const;
  std::size_t smallest_period(std::size_t length) const;
  std::optional<Stretch> step_with_extras(std::size_t length) const;
  std::optional<Stretch> latest_repetition(std::size_t period, std::size_t within) const;
  std::optional<perfmodel::OpPlace> choose_marker(Stretch stretch) const;

  std::optional<perfmodel::OpPlace> preferred_;
  std::optional<RecognisedStep> step_;
  std::vector<Seen> history_;
  struct Place {
    uint64_t last = 0;  // position of the latest occurrence
    int count = 0;      // since origin_: 1, or 2 for more
  };
  std::unordered_map<perfmodel::OpPlace, Place, PlaceHash> last_seen_;
  uint64_t met_ = 0;       // places met since origin_
  uint64_t met_once_ = 0;  // those that did not come again so far
  uint64_t total_ = 0;
  uint64_t origin_ = 0;  // where the evidence begins: the start, or the loss of a step
  std::size_t shortest_ = 1;
  perfmodel::Nanoseconds least_span_{0};
  uint64_t lag_ = 0;      // 0 = none
  uint64_t matched_ = 0;  // ops in a row that equal the one `lag_` before
  int64_t last_end_ns_ = 0;
  // The step in force: ops since its marker, and how well its length explains the latest ops.
  uint64_t since_marker_ = 0;
  uint64_t explained_ = 0;    // ops in intervals about as long as the step
  uint64_t unexplained_ = 0;  // ops in other intervals; both halve as they grow
};

}  // namespace optile::tuner
