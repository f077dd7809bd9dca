#include "placement/strategy/search_prices.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::placement {
namespace {

constexpr double kFirstStep = 0.1;
constexpr double kLongestStep = 3;
constexpr double kShortestStep = 1e-4;
constexpr double kGrow = 1.2;
constexpr double kShrink = 0.5;
constexpr double kExcessForFullStep = 0.05;  // of the limit
constexpr double kLeastShare = 0.02;

}  // namespace

double draw_unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

double draw_bell(std::mt19937_64& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += draw_unit(random) - 0.5;
  return sum * 1.7320508075688772;
}

SearchPrices::SearchPrices(const Core& core, std::vector<double> prices)
    : core_(core), prices_(core), signs_(core.room.size(), 0) {
  double sum = 0;
  double count = 0;
  for (double value : prices) {
    sum += value;
    count += value > 0 ? 1 : 0;
  }
  typical_ = count > 0 ? sum / count : 1e-3;
  steps_.assign(prices.size(), kFirstStep * typical_);
  prices_.set(std::move(prices));
}

void SearchPrices::move(const std::vector<Total>& use, Usage limit) {
  std::vector<double> prices = prices_.values();
  const auto full = kExcessForFullStep * static_cast<double>(limit);
  for (std::size_t i = 0; i < use.size(); ++i) {
    const auto excess = static_cast<double>(use[i] - core_.room[i]);
    const int sign = excess > 0 ? 1 : (prices[i] > 0 ? -1 : 0);
    if (sign * signs_[i] > 0) {
      steps_[i] = std::min(kLongestStep * typical_, steps_[i] * kGrow);
    } else if (sign * signs_[i] < 0) {
      steps_[i] = std::max(kShortestStep * typical_, steps_[i] * kShrink);
    }
    signs_[i] = static_cast<signed char>(sign);
    prices[i] += sign * steps_[i] * std::min(1.0, std::abs(excess) / full + kLeastShare);
  }
  prices_.set(std::move(prices));
}

std::vector<double> SearchPrices::shaken(std::mt19937_64& random) const {
  std::vector<double> prices = prices_.values();
  const double spread = draw_unit(random);
  const double level = std::exp(0.3 * draw_bell(random));
  for (double& price : prices) price *= level * std::exp(spread * draw_bell(random));
  return prices;
}

bool SearchPrices::raise_where_exceeded(const std::vector<Total>& use,
                                        std::vector<double>& prices) const {
  bool exceeded = false;
  for (std::size_t i = 0; i < use.size(); ++i) {
    if (use[i] <= core_.room[i]) continue;
    exceeded = true;
    prices[i] = prices[i] * 1.5 + 0.2 * typical_;
  }
  return exceeded;
}

}  // namespace optile::placement
