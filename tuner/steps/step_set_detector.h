// Finds the step of a program that says where its steps begin, but whose framework runs the ops of
// each in an order of its own (TensorFlow's executor): a step is known by which ops are in it, and
// how often each. Found once kEqualSteps in a row are the same, and not among the first ones: in
// those every op is told, and only then are small ones known as such. Pure, bounded memory; owned
// by the step tracker.
#pragma once

#include <cstddef>
#include <vector>

#include "perfmodel/profile/op.h"
#include "tuner/steps/period_detector.h"

namespace optile::tuner {

class StepSetDetector {
 public:
  static constexpr int kEqualSteps = 3;
  static constexpr std::size_t kFirstSteps = 10;

  void add(const perfmodel::OpPlace& place);
  // A step ended. True: it is the kEqualSteps-th of its kind in a row or a later one, and another
  // one than what step() was.
  bool end_step();
  // Its ops in the order of their keys; the first one stands for its marker. Empty while none is
  // known.
  const RecognisedStep& step() const { return step_; }
  std::size_t steps() const { return steps_; }  // that ended since restart()
  // What was heard so far is no evidence any more; step() stays.
  void restart();

 private:
  static constexpr std::size_t kMostOps = PeriodDetector::kLongestStep;

  std::vector<perfmodel::OpPlace> open_, latest_;
  RecognisedStep step_;
  int equal_ = 0;
  std::size_t steps_ = 0;
  std::size_t all_steps_ = 0;  // restart() does not forget them
};

}  // namespace optile::tuner
