#include "placement/neighbours.h"

#include <algorithm>

namespace optile::placement {

Neighbours::Neighbours(const Units& units) {
  first_.push_back(0);
  std::vector<UnitId> mine;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    mine.clear();
    for (const int net : units.produced(unit)) {
      const auto readers = units.readers(net);
      mine.insert(mine.end(), readers.begin(), readers.end());
    }
    for (const int net : units.read(unit)) {
      mine.push_back(units.nets()[static_cast<std::size_t>(net)].producer);
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    items_.insert(items_.end(), mine.begin(), mine.end());
    first_.push_back(items_.size());
  }
}

}  // namespace optile::placement
