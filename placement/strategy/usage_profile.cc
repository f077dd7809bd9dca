#include "placement/strategy/usage_profile.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace optile::placement {
namespace {

constexpr Total kLeast = -kGreatestTotal / 2;  // of leaves beyond the last moment

}  // namespace

Moments moments_of(const StrategyProblem& problem) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const StrategyNode& node : problem.nodes) {
    if (node.live.begin == node.live.end) continue;
    begins.push_back(node.live.begin);
    ends.push_back(node.live.end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<std::int64_t> peaks;  // the last begin before an end that no other end precedes
  std::size_t begin = 0;
  for (std::int64_t end : ends) {
    const std::size_t before = begin;
    while (begin < begins.size() && begins[begin] < end) ++begin;
    if (begin > before) peaks.push_back(begins[begin - 1]);
  }
  Moments moments;
  moments.count = static_cast<std::uint32_t>(peaks.size());
  const auto first_from = [&](std::int64_t time) {
    const auto it = std::lower_bound(peaks.begin(), peaks.end(), time);
    return static_cast<std::uint32_t>(it - peaks.begin());
  };
  for (const StrategyNode& node : problem.nodes) {
    if (node.live.begin == node.live.end) {
      moments.of_node.push_back({});
    } else {
      moments.of_node.push_back({first_from(node.live.begin), first_from(node.live.end)});
    }
  }
  return moments;
}

UsageProfile::UsageProfile(std::uint32_t moments)
    : moments_(moments),
      leaves_(std::bit_ceil(std::max(1U, moments))),
      best_(std::size_t{2} * leaves_, 0),
      added_(std::size_t{2} * leaves_, 0) {
  for (std::size_t leaf = moments_; leaf < leaves_; ++leaf) best_[leaves_ + leaf] = kLeast;
  for (std::size_t i = leaves_ - 1; i >= 1; --i) {
    best_[i] = std::max(best_[2 * i], best_[2 * i + 1]);
  }
}

void UsageProfile::add(MomentSpan span, Total amount) {
  if (span.empty() || amount == 0) return;
  std::size_t left = span.begin + leaves_;
  std::size_t right = span.end + leaves_;
  const std::size_t first = left;
  const std::size_t last = right - 1;
  for (; left < right; left /= 2, right /= 2) {
    if (left % 2 == 1) {
      best_[left] += amount;
      added_[left++] += amount;
    }
    if (right % 2 == 1) {
      best_[--right] += amount;
      added_[right] += amount;
    }
  }
  for (std::size_t i = first / 2; i >= 1; i /= 2) {
    best_[i] = std::max(best_[2 * i], best_[2 * i + 1]) + added_[i];
  }
  for (std::size_t i = last / 2; i >= 1; i /= 2) {
    best_[i] = std::max(best_[2 * i], best_[2 * i + 1]) + added_[i];
  }
}

// Climbs from both ends until they are siblings; what is pending above is added on the way.
Total UsageProfile::greatest(MomentSpan span) const {
  if (span.empty()) return 0;
  std::size_t left = span.begin + leaves_;
  std::size_t right = span.end - 1 + leaves_;
  Total from_left = best_[left];
  Total from_right = best_[right];
  while (left / 2 != right / 2) {
    if (left % 2 == 0) from_left = std::max(from_left, best_[left + 1]);
    if (right % 2 == 1) from_right = std::max(from_right, best_[right - 1]);
    left /= 2;
    right /= 2;
    from_left += added_[left];
    from_right += added_[right];
  }
  Total greatest = std::max(from_left, from_right);
  for (std::size_t above = left / 2; above >= 1; above /= 2) greatest += added_[above];
  return greatest;
}

std::vector<Total> UsageProfile::values() const {
  std::vector<Total> values(moments_);
  for (std::uint32_t i = 0; i < moments_; ++i) {
    Total value = best_[leaves_ + i];
    for (std::size_t above = (leaves_ + i) / 2; above >= 1; above /= 2) value += added_[above];
    values[i] = value;
  }
  return values;
}

}  // namespace optile::placement
