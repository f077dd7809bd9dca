#include "placement/strategy/memory_prices.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::placement {
namespace {

// Prices are multiples of this, so that sums of them are exact.
constexpr double kSteps = 1048576.0;  // 2^20

}  // namespace

MemoryPrices::MemoryPrices(const Core& core) : core_(core) {
  set(std::vector<double>(core.room.size(), 0));
}

void MemoryPrices::set(std::vector<double> prices) {
  prices_ = std::move(prices);
  sums_.assign(prices_.size() + 1, 0);
  long double worth = 0;
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    prices_[i] = std::floor(std::max(0.0, prices_[i]) * kSteps) / kSteps;
    sums_[i + 1] = sums_[i] + prices_[i];
    worth += static_cast<long double>(prices_[i]) * static_cast<long double>(core_.room[i]);
  }
  worth_ = static_cast<double>(worth);
  if (worth_ > 0) worth_ = std::nextafter(worth_, kWall) + 1.0 / 1024;
}

std::vector<Usage> usage_of(const Core& core, const std::vector<std::uint16_t>& values) {
  std::vector<Usage> use(core.room.size() + 1, 0);
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
