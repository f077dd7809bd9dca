// Whether what repeats is a loop inside the real step: its marker comes evenly while the loop runs,
// and then not for as long as the rest of the step takes, so that a good part of all ops lies in
// steps of another length. Pure; owned by the step tracker.
#pragma once

namespace optile::tuner {

class LoopDetector {
 public:
  // A step of `ops` ended where one of `expected` is known. True: that is a loop.
  bool on_step(double ops, double expected);
  // A longer step is looked for.
  void on_loop_found();
  // So many loops were found that the step is taken as it is.
  bool is_exhausted() const { return loops_found_ >= kMostLoops; }

 private:
  static constexpr int kMostLoops = 6;

  double even_ops_ = 0, odd_ops_ = 0;  // fading
  bool after_odd_ = false;
  int returns_ = 0;  // even steps right after odd ones
  int loops_found_ = 0;
};

}  // namespace optile::tuner
