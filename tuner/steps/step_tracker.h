// Which step the program repeats now: finds it, knows its ops, and notices when the program turns
// to another one. Where no op is told any more, steps of another length and ops without a step are
// all that is seen; then the sequence is listened to for a while, a watch. Owned by the session;
// one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tuner/steps/loop_detector.h"
#include "tuner/steps/period_detector.h"
#include "tuner/steps/step_model.h"
#include "tuner/steps/step_set_detector.h"

namespace optile::tuner {

class StepTracker {
 public:
  enum class Change : uint8_t {
    kNone,
    kWatchEnded,  // the step is the one before, or none was found
    kGaveUp,      // no step found in so many ops that none is expected any more
    kStep,        // another step
    kOuterStep,   // another one, which holds the one before as a loop
  };

  explicit StepTracker(perfmodel::Nanoseconds least_repeating);

  // The program declares its steps, and their ops come in another order each time.
  void set_unordered();
  bool is_unordered() const { return unordered_; }
  // A declared step of an unordered program ended, whose ops were all told unless `silent`.
  Change on_declared_step(bool silent);

  // An op that was told; none is while `silent`, unless watched.
  Change on_op(perfmodel::OpPlace place, perfmodel::Nanoseconds begin,
               perfmodel::Nanoseconds duration, bool silent);
  // A step of so many ops ended. True: it is a loop inside the real step.
  bool on_step(uint32_t ops, bool mixed);
  // The same where no op is told. True: so many steps were unlike the known one that a watch is
  // due.
  bool on_silent_step(uint32_t ops);
  // Ops begun since attach. True, where `silent`: no step for as many ops as several steps have, a
  // watch is due.
  bool on_progress(uint64_t ops_begun, bool silent);

  void begin_watch();
  void end_watch() { watching_ = false; }
  // The known step is a loop; a longer one is looked for.
  void leave_loop();
  // What was heard so far is no evidence any more.
  void restart();
  void prefer_marker(const perfmodel::OpPlace& place) { detector_.prefer(place); }
  // Ops are told no more, or not all. `settled`: a plan came into force.
  void stop_recognition(bool settled);

  StepModel* model() { return model_.get(); }  // null: no step is known
  const StepModel* model() const { return model_.get(); }
  bool watching() const { return watching_; }
  bool gave_up() const { return gave_up_; }
  uint32_t steps_found() const { return steps_found_; }  // that were others than the one before
  // Steps begun so far, from the ops heard; those since the latest restart() where the step before
  // was settled, since its steps were counted.
  uint64_t steps_begun(uint64_t counted) const;

 private:
  static constexpr uint64_t kWatchOps = 4 * PeriodDetector::kLongestStep;
  static constexpr std::size_t kWatchSteps = 16;  // of an unordered program

  Change accept_step(const RecognisedStep& step);

  PeriodDetector detector_;
  StepSetDetector sets_;
  bool unordered_ = false;
  std::unique_ptr<StepModel> model_;
  LoopDetector loop_;
  bool gave_up_ = false;
  bool watching_ = false;
  bool settled_ = false;  // op events have been off since the step began to be known
  int foreign_steps_ = 0;
  int foreign_needed_ = 0;                        // for a watch; 0 = as at the start
  uint64_t progress_ = 0, progress_at_step_ = 0;  // ops begun: last told, and as a step ended
  uint32_t steps_found_ = 0;
};

}  // namespace optile::tuner
