#include "placement/strategy/memory_shares.h"

#include <algorithm>
#include <utility>

#include "placement/strategy/memory_prices.h"
#include "placement/strategy/usage_profile.h"

namespace optile::placement {
namespace {

// In a random order; the standard library's differs between machines.
void shuffle(std::vector<std::uint32_t>& nodes, std::mt19937_64& random) {
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random() % i]);
}

std::vector<Usage> levels_of(const CoreNode& node) {
  std::vector<Usage> levels = node.usages;
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

// By how much the use exceeds the room, at each moment; mostly negative.
UsageProfile excess_of(const Core& core, const std::vector<std::uint16_t>& values) {
  const std::vector<Total> use = usage_of(core, values);
  UsageProfile excess(static_cast<std::uint32_t>(use.size()));
  for (std::uint32_t moment = 0; moment < use.size(); ++moment) {
    excess.add({moment, moment + 1}, use[moment] - core.room[moment]);
  }
  return excess;
}

}  // namespace

std::vector<std::uint32_t> MemoryShares::competitors(const std::vector<double>& prices,
                                                     std::size_t most,
                                                     std::mt19937_64& random) const {
  double sum = 0;
  for (const double price : prices) sum += price;
  std::vector<std::uint32_t> nodes;
  if (sum <= 0) return nodes;
  double left = sum * (static_cast<double>(random() >> 11) * 0x1.0p-53);
  std::uint32_t moment = 0;
  while (moment + 1 < prices.size() && left >= prices[moment]) left -= prices[moment++];
  for (std::uint32_t i = 0; i < core_.nodes.size(); ++i) {
    const CoreNode& node = core_.nodes[i];
    if (node.live.begin > moment || moment >= node.live.end) continue;
    if (*std::max_element(node.usages.begin(), node.usages.end()) > 0) nodes.push_back(i);
  }
  shuffle(nodes, random);
  if (nodes.size() > most) nodes.resize(most);
  return nodes;
}

std::vector<Usage> MemoryShares::divide(const std::vector<std::uint32_t>& window,
                                        const std::vector<std::uint16_t>& values,
                                        std::mt19937_64& random) const {
  UsageProfile excess = excess_of(core_, values);
  std::vector<Usage> shares;
  shares.reserve(window.size());
  for (const std::uint32_t node : window) shares.push_back(core_.nodes[node].usages[values[node]]);
  for (std::size_t i = 0; i < window.size(); ++i) {
    const CoreNode& node = core_.nodes[window[i]];
    const std::vector<Usage> levels = levels_of(node);
    const Usage now = shares[i];
    const auto present = std::lower_bound(levels.begin(), levels.end(), now);
    if (i == 0) {
      const auto lower = static_cast<std::size_t>(present - levels.begin());
      if (lower > 0) shares[0] = levels[random() % lower];
    } else {
      const Total most = node.live.empty() ? levels.back() : now - excess.greatest(node.live);
      shares[i] = *(std::upper_bound(present + 1, levels.end(), most) - 1);
    }
    excess.add(node.live, shares[i] - now);
  }
  return shares;
}

}  // namespace optile::placement
