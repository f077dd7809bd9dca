#include "tuner/session/op_sampler.h"

#include <algorithm>

namespace optile::tuner {
namespace {

constexpr double kChangeShare = 0.02;  // of an execution: a change of width this small is noise
constexpr std::chrono::microseconds kDearChange{50};  // assumed until it was measured
constexpr int kAskedForClean = 3;  // then samples with a change of width in them count

}  // namespace

void OpSampler::take(const OpEvent& event, Site* site, const perfmodel::SwitchingCost& cost) {
  if (site != nullptr) ++(event.steerable ? site->steerable_seen : site->unsteerable_seen);
  if (site != nullptr && event.width > 0) {
    const perfmodel::Configuration at{event.width, event.binding};
    if (event.first_touch) {
      const auto [touch, fresh] = site->samples.touched.emplace(at, event.duration);
      if (!fresh) touch->second = std::min(touch->second, event.duration);
    } else if (holds_change(event, cost)) {
      site->samples.with_change[at].add(event.duration);
    } else {
      site->samples.profile.record(at, event.duration);
      ++samples_;
    }
  }
  if (event.width > 1) team_before_ = event.width;
}

// A team that had to be built inside the op: a short op would be charged for it.
bool OpSampler::holds_change(const OpEvent& event, const perfmodel::SwitchingCost& cost) const {
  if (event.width <= 1 || team_before_ == 0 || team_before_ == event.width) return false;
  perfmodel::Nanoseconds price = cost.typical();
  if (!cost.measured()) price = std::max<perfmodel::Nanoseconds>(price, kDearChange);
  return static_cast<double>(price.count()) >
         kChangeShare * static_cast<double>(event.duration.count());
}

void OpSampler::accept_changes(OpSamples& samples, const perfmodel::SwitchingCost& cost) {
  for (const auto& [at, asked] : samples.asked) {
    const auto dirty = samples.with_change.find(at);
    if (asked < kAskedForClean || dirty == samples.with_change.end()) continue;
    if (samples.profile.find(at) == nullptr) {
      for (perfmodel::Nanoseconds duration : dirty->second.kept()) {
        samples.profile.record(at, std::max(duration - cost.typical(), perfmodel::Nanoseconds(1)));
        ++samples_;
      }
    }
    samples.with_change.erase(dirty);
  }
}

}  // namespace optile::tuner
