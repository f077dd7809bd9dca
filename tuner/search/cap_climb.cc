#include "tuner/search/cap_climb.h"

#include <algorithm>

namespace optile::tuner {
namespace {

// Behind one that is as fast there may be a faster one; behind a slower one there is none.
constexpr double kPlainlySlower = -0.05;

}  // namespace

CapClimb::CapClimb(int default_width, const std::vector<int>& usable)
    : default_width_(default_width), best_(default_width) {
  for (int width = default_width / 2; width > 0; width /= 2) {
    if (std::find(usable.begin(), usable.end(), width) != usable.end()) caps_.push_back(width);
  }
}

void CapClimb::on_compared(double gain, bool settled) {
  if (at_ >= caps_.size()) return;
  if (settled) {
    best_ = caps_[at_];
    missed_ = false;
    ++at_;
    return;
  }
  const bool ends = missed_ || gain < kPlainlySlower;
  missed_ = true;
  at_ = ends ? caps_.size() : at_ + 1;
}

}  // namespace optile::tuner
