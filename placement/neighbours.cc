#include "placement/neighbours.h"

#include <algorithm>
#include <map>

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

void follow_neighbours(const Units& units, double Net::*exchanged, std::vector<UnitId>& of) {
  std::vector<std::map<UnitId, double>> between(of.size());
  for (int net = 0; net < static_cast<int>(units.nets().size()); ++net) {
    const Net& one = units.nets()[static_cast<std::size_t>(net)];
    for (const UnitId reader : units.readers(net)) {
      between[static_cast<std::size_t>(reader)][one.producer] += one.*exchanged;
      between[static_cast<std::size_t>(one.producer)][reader] += one.*exchanged;
    }
  }
  for (bool found = true; found;) {
    found = false;
    for (std::size_t unit = 0; unit < of.size(); ++unit) {
      if (of[unit] >= 0) continue;
      double most = -1;
      for (const auto& [other, amount] : between[unit]) {
        if (of[static_cast<std::size_t>(other)] < 0 || amount <= most) continue;
        most = amount;
        of[unit] = of[static_cast<std::size_t>(other)];
      }
      found = found || of[unit] >= 0;
    }
  }
}

}  // namespace optile::placement
