// The prices of memory as a search moves them: each by a step of its own, which grows while the
// excess over the limit keeps its sign. Of one thread.
#pragma once

#include <random>
#include <vector>

#include "placement/strategy/core.h"
#include "placement/strategy/memory_prices.h"

namespace optile::placement {

// From 0 to 1, and about normal with variance 1; the standard library's differ between machines.
double draw_unit(std::mt19937_64& random);
double draw_bell(std::mt19937_64& random);

class SearchPrices {
 public:
  // The core must outlive it.
  SearchPrices(const Core& core, std::vector<double> prices);

  const MemoryPrices& now() const { return prices_; }
  // By the use of a choice at every moment: up where it exceeds the limit, down elsewhere.
  void move(const std::vector<Total>& use, Usage limit);
  // Windows at exactly the right prices would find the same thing each time.
  std::vector<double> shaken(std::mt19937_64& random) const;
  // Whether any moment exceeds the limit: its price is higher then.
  bool raise_where_exceeded(const std::vector<Total>& use, std::vector<double>& prices) const;

 private:
  const Core& core_;
  MemoryPrices prices_;
  double typical_ = 0;
  std::vector<double> steps_;  // of each price
  std::vector<signed char> signs_;
};

}  // namespace optile::placement
