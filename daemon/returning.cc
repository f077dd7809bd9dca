#include "daemon/returning.h"

#include <algorithm>

namespace optile::daemon {

bool Returning::look(const std::set<int>& attached, Time now) {
  if (!read_) return false;
  std::set<int> kept;
  const std::vector<HeldProcess> held = now < until_ ? read_() : std::vector<HeldProcess>();
  for (const HeldProcess& one : held) {
    if (!attached.contains(one.pid)) kept.insert(one.units.begin(), one.units.end());
  }
  if (kept.empty()) read_ = {};  // nobody is added to those that an earlier daemon held
  const std::set<int> all = kept;
  for (const HeldProcess& one : held) {
    const bool nothing_else = std::all_of(one.units.begin(), one.units.end(),
                                          [&](int unit) { return all.contains(unit); });
    if (!attached.contains(one.pid) || !nothing_else) continue;
    for (const int unit : one.units) kept.erase(unit);
  }
  return std::exchange(units_, std::move(kept)) != units_;
}

}  // namespace optile::daemon
