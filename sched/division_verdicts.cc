#include "sched/division_verdicts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace optile::sched {
namespace {

constexpr std::size_t kMostDivisionVerdicts =
    1024;  // of those beyond, what ends first is forgotten

}  // namespace

void DivisionVerdicts::note(DivisionVerdict verdict, uint64_t until) {
  const DivisionKey key = verdict.key;
  known_[key] = {std::move(verdict), until};
  if (known_.size() <= kMostDivisionVerdicts) return;
  known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
    return a.second.until < b.second.until;
  }));
}

const DivisionVerdict* DivisionVerdicts::find(const DivisionKey& key, uint64_t tick) const {
  const auto found = known_.find(key);
  return found == known_.end() || found->second.until <= tick ? nullptr : &found->second.verdict;
}

}  // namespace optile::sched
