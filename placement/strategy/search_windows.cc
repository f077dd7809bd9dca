#include "placement/strategy/search_windows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "placement/strategy/search_prices.h"

namespace optile::placement {
namespace {

// One in 16 is everything, and one in 64 of a large core, where that takes as long as a hundred
// others.
constexpr double kSmallestWindow = 4;
constexpr double kLargestWindow = 12;
constexpr unsigned kWholeOneIn = 16;
constexpr unsigned kWholeOfLargeOneIn = 64;

}  // namespace

SearchWindows::SearchWindows(const Core& core)
    : core_(core), all_(core.nodes.size()), seen_(core.nodes.size()) {
  std::iota(all_.begin(), all_.end(), 0U);
}

SearchWindows::Nodes SearchWindows::around(Nodes nodes, std::size_t size, std::mt19937_64& random) {
  seen_.clear();
  Nodes window = std::move(nodes);
  for (std::uint32_t node : window) seen_.insert(node);
  for (std::size_t at = 0; at < window.size() && window.size() < size; ++at) {
    const auto& neighbours = core_.neighbours[window[at]];
    const std::size_t shift = neighbours.empty() ? 0 : random() % neighbours.size();
    for (std::size_t k = 0; k < neighbours.size() && window.size() < size; ++k) {
      const std::uint32_t other = neighbours[(k + shift) % neighbours.size()].node;
      if (seen_.insert(other)) window.push_back(other);
    }
  }
  return window;
}

SearchWindows::Nodes SearchWindows::pick(std::mt19937_64& random) {
  const std::size_t count = all_.size();
  const unsigned one_in = count <= kSmallCore ? kWholeOneIn : kWholeOfLargeOneIn;
  if (random() % one_in == 0 || count < 64) return all_;
  const std::size_t size = pick_size(random);
  return around({static_cast<std::uint32_t>(random() % count)}, size, random);
}

std::size_t SearchWindows::pick_size(std::mt19937_64& random) const {
  const double exponent = kSmallestWindow + (kLargestWindow - kSmallestWindow) * draw_unit(random);
  return std::min(static_cast<std::size_t>(std::exp2(exponent)), all_.size());
}

}  // namespace optile::placement
