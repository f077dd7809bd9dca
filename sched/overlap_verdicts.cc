#include "sched/overlap_verdicts.h"

#include <algorithm>
#include <utility>

namespace optile::sched {

const char* shape_name(OverlapShape shape) {
  switch (shape) {
    case OverlapShape::kHalf:
      return "half";
    case OverlapShape::kWhole:
      return "whole";
    case OverlapShape::kBoth:
      return "both";
  }
  return "unknown";
}

void OverlapVerdicts::note(OverlapVerdict verdict, uint64_t until) {
  const OverlapKey key = verdict.key;
  known_[key] = {std::move(verdict), until};
  if (known_.size() <= kMostVerdicts) return;
  known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
    return a.second.until < b.second.until;
  }));
}

const OverlapVerdict* OverlapVerdicts::find(const OverlapKey& key, uint64_t tick) const {
  const auto found = known_.find(key);
  return found == known_.end() || found->second.until <= tick ? nullptr : &found->second.verdict;
}

}  // namespace optile::sched
