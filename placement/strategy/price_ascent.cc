#include "placement/strategy/price_ascent.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace optile::placement {
namespace {

// The first sweeps only spread the costs; prices moved then would follow noise.
constexpr std::uint64_t kFirstAscentSweeps = 10;
constexpr int kSettlingSweeps = 10;
constexpr int kAscentPatience = 20;
constexpr double kShorter = 0.7;
constexpr std::uint64_t kStallWindow = 200;
constexpr double kStallGain = 1e-4;

}  // namespace

PriceAscent::PriceAscent(const Core& core)
    : core_(core),
      messages_(core),
      prices_(core),
      values_(core.room.size(), 0),
      best_prices_(values_),
      best_(-std::numeric_limits<double>::infinity()) {}

void PriceAscent::restart_from(const std::vector<double>& prices) {
  values_ = prices;
  prices_.set(values_);
  messages_.set_prices(prices_);
  length_ = 0.1;
  without_gain_ = 0;
  stalled_ = false;
  mark_ = best_;
}

void PriceAscent::step(double target) {
  const double bound = messages_.sweep();
  ++sweeps_;
  if (bound > best_) {
    best_ = bound;
    best_prices_ = values_;
    without_gain_ = 0;
  } else if (++without_gain_ > kAscentPatience) {
    length_ *= kShorter;
    without_gain_ = 0;
  }
  if (sweeps_ % kStallWindow == 0) {
    stalled_ = best_ - mark_ < kStallGain * std::max(1.0, std::abs(best_));
    mark_ = best_;
  }
  if (prices_.limited() && sweeps_ >= kFirstAscentSweeps) move_prices(bound, target);
}

DualBound PriceAscent::settled() const {
  DualBound at_best = messages_;
  MemoryPrices prices(core_);
  if (prices_.limited()) {
    prices.set(best_prices_);
    at_best.set_prices(prices);
  }
  for (int i = 0; i < kSettlingSweeps; ++i) at_best.sweep();
  return at_best;
}

bool PriceAscent::stalled() const {
  return stalled_;
}

void PriceAscent::move_prices(double bound, double target) {
  const std::vector<Total> use = usage_of(core_, messages_.minima());
  std::vector<double> slope(use.size());
  double squares = 0;
  for (std::size_t i = 0; i < use.size(); ++i) {
    slope[i] = static_cast<double>(use[i] - core_.room[i]);
    if (slope[i] < 0 && values_[i] == 0) slope[i] = 0;
    squares += slope[i] * slope[i];
  }
  if (squares == 0) return;
  const double step = length_ * std::max(1.0, target - bound) / squares;
  for (std::size_t i = 0; i < use.size(); ++i) {
    values_[i] = std::max(0.0, values_[i] + step * slope[i]);
  }
  prices_.set(values_);
  messages_.set_prices(prices_);
}

}  // namespace optile::placement
