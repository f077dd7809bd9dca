// Annealing over any cost that is asked for as a whole. One object is one chain, of one thread; the
// same seed, start and number of evaluations give the same end.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "placement/budget.h"
#include "placement/neighbours.h"
#include "placement/place.h"
#include "placement/previous_placement.h"
#include "placement/search/metropolis.h"
#include "placement/units.h"

namespace optile::placement {

// Of one thread: it may keep what it needs between candidates.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual Score score(const std::vector<DeviceId>& units) = 0;
  // The same of a candidate that differs from what was kept last in `changed` at most.
  virtual Score score_changed(const std::vector<DeviceId>& units,
                              std::span<const UnitId> /*changed*/) {
    return score(units);
  }
  // What was scored last is kept: later candidates are likely to differ little from it.
  virtual void keep() {}
};

using CostModelMaker = std::function<std::unique_ptr<CostModel>()>;

struct SearchSpace {
  const Units& units;
  const Neighbours& neighbours;
  std::vector<UnitId> order;      // topological, for moves of stretches
  std::vector<DeviceId> devices;  // that may be used
  PreviousPlacement kept;         // what the starts hold and all moves have to
};

// From the starts, in rounds of four chains on four threads, closer to the best each time. The
// best of all; its cost is what the model says.
Candidate search(const SearchSpace& space, const CostModelMaker& make,
                 const std::vector<std::vector<DeviceId>>& starts, const Request& request,
                 Budget& budget);
// From the placement that the request keeps, within the moves it allows.
std::vector<DeviceId> search_kept(SearchSpace space, const CostModelMaker& make,
                                  const Request& request, Budget& budget);

}  // namespace optile::placement
