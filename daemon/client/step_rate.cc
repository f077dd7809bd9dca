#include "daemon/client/step_rate.h"

namespace optile::daemon {
namespace {

constexpr uint64_t kLeastNs = UINT64_C(1'000'000'000);

}  // namespace

bool StepRate::is_due(uint64_t now_ns) const {
  return looks_.empty() || now_ns >= looks_.back().at_ns + kSpacingNs;
}

void StepRate::note(uint64_t now_ns, uint64_t steps) {
  if (!looks_.empty() && steps < looks_.back().steps) looks_.clear();
  looks_.push_back({now_ns, steps});
  // The one that began the window stays.
  while (looks_.size() > 2) {
    const Look& next = looks_[1];
    const bool enough = next.at_ns + kWindowNs <= now_ns && steps - next.steps >= kLeastSteps;
    if (!enough && next.at_ns + kMaxWindowNs > now_ns) break;
    looks_.pop_front();
  }
}

std::optional<double> StepRate::per_second() const {
  if (looks_.size() < 2) return std::nullopt;
  const Look& first = looks_.front();
  const Look& last = looks_.back();
  if (last.at_ns < first.at_ns + kLeastNs) return std::nullopt;
  return static_cast<double>(last.steps - first.steps) * 1e9 /
         static_cast<double>(last.at_ns - first.at_ns);
}

}  // namespace optile::daemon
