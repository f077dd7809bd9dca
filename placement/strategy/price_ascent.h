// Raises the bound of a strategy problem over messages and memory prices together: sweeps of
// messages, and between them a subgradient step of the prices (Polyak's length). What it finds is a
// proven bound and prices to search with.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/strategy/core.h"
#include "placement/strategy/dual_bound.h"
#include "placement/strategy/memory_prices.h"

namespace optile::placement {

class PriceAscent {
 public:
  // The core must outlive it.
  explicit PriceAscent(const Core& core);

  // One sweep and one step towards `target`, a cost that the bound will not exceed. Both are in
  // the core's scale.
  void step(double target);
  // Goes on from these prices, with short steps.
  void restart_from(const std::vector<double>& prices);

  // The messages at the best prices, settled.
  DualBound settled() const;

  double bound() const { return best_; }
  const std::vector<double>& best_prices() const { return best_prices_; }
  std::uint64_t sweeps() const { return sweeps_; }
  // The bound has hardly moved over the last sweeps.
  bool stalled() const;

 private:
  void move_prices(double bound, double target);

  const Core& core_;
  DualBound messages_;
  MemoryPrices prices_;
  std::vector<double> values_;
  std::vector<double> best_prices_;
  double best_;
  double length_ = 1;  // of a step, as a share of Polyak's
  int without_gain_ = 0;
  std::uint64_t sweeps_ = 0;
  double mark_ = 0;  // the bound some sweeps ago
  bool stalled_ = false;
};

}  // namespace optile::placement
