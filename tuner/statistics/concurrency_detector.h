// Whether a program's ops usually run while ops of its other threads do. What is measured then is
// not the op's own: nothing is searched, compared or rolled back on such evidence. A fading share
// with a wide gap between its two thresholds. Pure; owned by a session.
#pragma once

namespace optile::tuner {

class ConcurrencyDetector {
 public:
  // An op that was followed.
  void on_op(bool overlapped) { add(overlapped, 1.0 / 64); }
  // A whole step, most of which was overlapped or not; once widths are settled no op is told.
  void on_step(bool overlapped) { add(overlapped, 1.0 / 4); }
  bool usual() const { return usual_; }

 private:
  void add(bool overlapped, double weight) {
    share_ += ((overlapped ? 1.0 : 0.0) - share_) * weight;
    if (share_ > 0.5) usual_ = true;
    if (share_ < 0.1) usual_ = false;
  }

  double share_ = 0;
  bool usual_ = false;
};

}  // namespace optile::tuner
