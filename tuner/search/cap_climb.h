// Which caps on the width of every op a program's executor is tried under: halves of its default
// width, from the widest down, while narrower ones are not plainly slower (the paper's hill climb,
// III-C, over whole steps). Pure, one thread; owned by a session.
#pragma once

#include <cstddef>
#include <vector>

namespace optile::tuner {

class CapClimb {
 public:
  // `usable`: the widths that may be set, below `default_width`.
  CapClimb(int default_width, const std::vector<int>& usable);

  int default_width() const { return default_width_; }
  // The fastest so far; the default width: no cap.
  int best() const { return best_; }
  // To be compared with best() next; 0 = the climb is over.
  int next() const { return at_ < caps_.size() ? caps_[at_] : 0; }
  // How much faster next() was than best(), as a share, and whether that is settled.
  void on_compared(double gain, bool settled);
  // best() turned out to be no faster than the default width.
  void drop_best() { best_ = default_width_; }

 private:
  std::vector<int> caps_;
  std::size_t at_ = 0;
  int default_width_;
  int best_;
  bool missed_ = false;  // the last one was no faster
};

}  // namespace optile::tuner
