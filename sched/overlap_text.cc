#include "sched/overlap_text.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace optile::sched {
namespace {

constexpr double kHundred = 100;
constexpr std::size_t kMostNamed = 8;

}  // namespace

std::string cores_text(const std::vector<int>& cores) {
  if (cores.size() > kMostNamed) return std::to_string(cores.size()) + " cores";
  std::string text = cores.size() == 1 ? "core" : "cores";
  for (int core : cores) text += " " + std::to_string(core);
  return text;
}

std::string gain_text(const PairEstimate& estimate) {
  std::array<char, 160> text{};
  if (estimate.rounds < 2) {
    std::snprintf(text.data(), text.size(), "%d rounds", estimate.rounds);
  } else {
    std::snprintf(text.data(), text.size(),
                  "%+.1f %% [%.1f, %.1f] of their progress over %d rounds (%+.1f %% and %+.1f %%)",
                  kHundred * estimate.gain, kHundred * estimate.low, kHundred * estimate.high,
                  estimate.rounds, kHundred * estimate.change[0], kHundred * estimate.change[1]);
  }
  return text.data();
}

std::string shape_text(OverlapShape shape, const Overlap& overlap) {
  const std::string first = "client " + std::to_string(overlap.first);
  const std::string second = "client " + std::to_string(overlap.second);
  switch (shape) {
    case OverlapShape::kHalf:
      return first + " on half of what " + second + " has";
    case OverlapShape::kWhole:
      return first + " on all that " + second + " has";
    case OverlapShape::kBoth:
      return "each on all that the other has";
  }
  return "";
}

}  // namespace optile::sched
