#include "placement/strategy/memory_prices.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace optile::placement {
namespace {

constexpr int kFewestBits = 20;
// The greatest usage times one step of a price is at most 1/16.
constexpr int kBitsBelowUsage = 4;
constexpr double kMostSteps = 0x1p60;  // of one price; 2^24 moments of them have a sum
// Of room. Beyond it there is no bound to speak of, and a sum with it still has 127 bits.
constexpr Total kMostWorth = kGreatestTotal / 4;

int bits_of(Usage greatest) {
  const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(greatest)));
  return std::max(kFewestBits, width + kBitsBelowUsage);
}

}  // namespace

MemoryPrices::MemoryPrices(const Core& core)
    : core_(core), bits_(bits_of(core.greatest_usage)), step_(std::ldexp(1.0, -bits_)) {
  set(std::vector<double>(core.room.size(), 0));
}

void MemoryPrices::set(std::vector<double> prices) {
  prices_ = std::move(prices);
  sums_.assign(prices_.size() + 1, 0);
  Total worth = 0;
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    const double steps = std::floor(std::min(kMostSteps, std::max(0.0, prices_[i] / step_)));
    prices_[i] = steps * step_;
    const auto whole = static_cast<Total>(steps);
    sums_[i + 1] = sums_[i] + whole;
    worth = std::min(kMostWorth, worth + whole * core_.room[i]);
  }
  const Total in_grid = Total{1} << (bits_ - kGridBits);
  worth_ = worth < kMostWorth ? worth / in_grid + (worth % in_grid != 0 ? 1 : 0) : kMostWorth;
}

double MemoryPrices::paid(MomentSpan live, Usage usage) const {
  const Total steps = steps_over(live);
  if (static_cast<double>(steps) * step_ * static_cast<double>(usage) >= kWall) return kWall;
  return static_cast<double>((steps * usage) >> (bits_ - kGridBits)) / kGrid;
}

std::vector<Total> usage_of(const Core& core, const std::vector<std::uint16_t>& values) {
  std::vector<Total> use(core.room.size() + 1, 0);
  if (core.room.empty()) return {};
  for (std::size_t i = 0; i < core.nodes.size(); ++i) {
    const CoreNode& node = core.nodes[i];
    if (node.live.empty()) continue;
    use[node.live.begin] += node.usages[values[i]];
    use[node.live.end] -= node.usages[values[i]];
  }
  for (std::size_t t = 1; t < use.size(); ++t) use[t] += use[t - 1];
  use.pop_back();
  return use;
}

}  // namespace optile::placement
