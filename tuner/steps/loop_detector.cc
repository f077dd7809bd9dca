#include "tuner/steps/loop_detector.h"

#include <algorithm>
#include <cmath>

namespace optile::tuner {
namespace {

constexpr double kLoopSteps = 32;    // as many steps' ops before a step is called a loop
constexpr double kLoopShare = 0.15;  // of all ops outside its even repetitions
constexpr int kLoopReturns = 3;      // from odd repetitions to even ones

}  // namespace

bool LoopDetector::on_step(double ops, double expected) {
  if (is_exhausted()) return false;
  const bool odd = std::abs(ops - expected) > std::max(2.0, expected / 10);
  (odd ? odd_ops_ : even_ops_) += ops;
  if (!odd && after_odd_) ++returns_;
  after_odd_ = odd;
  const double all = even_ops_ + odd_ops_;
  if (all < kLoopSteps * expected) return false;
  // A program that turned to something else does not come back to the even repetitions.
  const bool loop = odd_ops_ > kLoopShare * all && returns_ >= kLoopReturns;
  even_ops_ /= 2;
  odd_ops_ /= 2;
  return loop;
}

void LoopDetector::on_loop_found() {
  const int found = loops_found_ + 1;
  *this = LoopDetector();
  loops_found_ = found;
}

}  // namespace optile::tuner
