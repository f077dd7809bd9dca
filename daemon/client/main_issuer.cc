#include "daemon/client/main_issuer.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace optile::daemon {
namespace {

constexpr double kRemembered = 2;     // seconds inside ops, of all threads
constexpr double kAhead = 2;          // times as long as the one that is followed
constexpr double kLeastAhead = 0.05;  // seconds, before another is followed

}  // namespace

void MainIssuer::add(uint32_t slot, perfmodel::Nanoseconds duration) {
  if (slot >= seconds_.size()) return;
  seconds_[slot] += std::chrono::duration<double>(duration).count();
  ++fresh_[slot];
  if (!slot_) slot_ = slot;
}

uint64_t MainIssuer::ops_of_it(uint64_t begun) {
  const uint64_t all = std::accumulate(fresh_.begin(), fresh_.end(), uint64_t{0});
  if (all > 0 && slot_) {
    share_ = static_cast<double>(fresh_[*slot_]) / static_cast<double>(all);
    fresh_.fill(0);
  }
  if (begun > begun_) ops_of_it_ += share_ * static_cast<double>(begun - begun_);
  begun_ = begun;
  return static_cast<uint64_t>(ops_of_it_);
}

bool MainIssuer::choose() {
  if (!slot_) return false;
  const auto ahead = std::max_element(seconds_.begin(), seconds_.end());
  const bool another = *ahead > kLeastAhead && *ahead > kAhead * seconds_[*slot_];
  if (another) slot_ = static_cast<uint32_t>(ahead - seconds_.begin());
  const double all = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  if (all > kRemembered) {
    for (double& one : seconds_) one *= kRemembered / all;
  }
  return another;
}

}  // namespace optile::daemon
