#include "daemon/leases/region_throughput.h"

#include <algorithm>
#include <cstddef>

#include "perfmodel/synthetic/fixed_team.h"
#include "tuner/statistics/step_comparison.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kKept = 9;
constexpr std::size_t kEnough = 3;
constexpr uint64_t kMany = 8;   // regions in a look, so that one more or less is no other pace
constexpr double kOther = 1.5;  // times, from its pace before
constexpr std::chrono::milliseconds kShortest(200);  // shorter ones count too few regions

}  // namespace

void RegionThroughput::look(std::chrono::milliseconds now, uint64_t regions, int cores) {
  if (last_ && now - last_->at < kShortest && cores == last_->cores) return;
  const std::optional<Look> before = last_;
  last_ = Look{now, regions, cores};
  if (!before || cores < 1 || before->cores != cores || regions <= before->regions) return;
  const double passed = std::chrono::duration<double>(now - before->at).count();
  std::deque<double>& paces = paces_[cores];
  paces.push_back(passed / static_cast<double>(regions - before->regions));
  if (paces.size() > kKept) paces.pop_front();
  if (regions - before->regions >= kMany) forget_if_turned(cores);
}

std::optional<double> RegionThroughput::measured(int cores) const {
  const auto found = paces_.find(cores);
  if (found == paces_.end() || found->second.size() < kEnough) return std::nullopt;
  return tuner::median({found->second.begin(), found->second.end()});
}

void RegionThroughput::forget_if_turned(int cores) {
  const std::deque<double>& paces = paces_.at(cores);
  if (paces.size() < 2 * kEnough || turns_ == kMostTurns) return;
  const auto latest = paces.end() - static_cast<std::ptrdiff_t>(kEnough);
  const auto [fastest, slowest] = std::minmax_element(latest, paces.end());
  const auto [fastest_before, slowest_before] = std::minmax_element(paces.begin(), latest);
  const bool slower = *fastest >= kOther * *slowest_before;
  const bool faster = *slowest * kOther <= *fastest_before;
  if (!slower && !faster) return;
  const std::deque<double> now(latest, paces.end());
  paces_ = {{cores, now}};
  ++turns_;
}

// All in one unit: what is measured at another number of cores stands beside these.
std::vector<double> RegionThroughput::predicted(int threads, int most) const {
  std::vector<double> times = perfmodel::fixed_team_times(threads, most);
  const auto scale_by = [&](int cores) {
    if (cores < 1 || cores > static_cast<int>(times.size())) return false;
    const std::optional<double> seen = measured(cores);
    if (!seen) return false;
    const double unit = *seen / times[static_cast<std::size_t>(cores) - 1];
    for (double& time : times) time *= unit;
    return true;
  };
  if (last_ && scale_by(last_->cores)) return times;
  for (const auto& [cores, paces] : paces_) {
    if (scale_by(cores)) break;
  }
  return times;
}

}  // namespace optile::daemon
