#include "tuner/steps/op_history.h"

#include <algorithm>

#include "base/hash.h"

namespace optile::tuner {

using perfmodel::Nanoseconds;
using perfmodel::OpPlace;

std::size_t PlaceHash::operator()(const OpPlace& place) const {
  return static_cast<std::size_t>(
      base::hash_word(place.context, base::hash_word(place.key, base::kHashSeed)));
}

void OpHistory::add(OpPlace place, Nanoseconds begin, Nanoseconds duration) {
  const int64_t gap = total_ == 0 ? 0 : std::max<int64_t>(0, begin.count() - last_end_ns_);
  last_end_ns_ = begin.count() + duration.count();
  if (ops_.size() < kMost) {
    ops_.push_back({place, begin.count(), gap});
  } else {
    ops_[total_ % kMost] = {place, begin.count(), gap};
  }
  Place& met = last_met_[place];
  if (met.count == 0 || met.last < origin_) {
    met.count = 1;
    ++places_;
    ++met_once_;
  } else if (met.count == 1) {
    met.count = 2;
    --met_once_;
  }
  met.last = total_;
  ++total_;
  if (last_met_.size() > 2 * kMost) forget_old_places();
}

void OpHistory::forget_old_places() {
  std::erase_if(last_met_, [&](const auto& old) { return total_ - old.second.last > kMost; });
  places_ = 0;
  met_once_ = 0;
  for (const auto& [place, met] : last_met_) {
    if (met.last < origin_) continue;
    ++places_;
    met_once_ += met.count == 1 ? 1u : 0u;
  }
}

void OpHistory::begin_evidence() {
  origin_ = total_;
  places_ = 0;
  met_once_ = 0;
}

uint64_t OpHistory::distance_to(const OpPlace& place) const {
  const auto last = last_met_.find(place);
  return last == last_met_.end() ? 0 : total_ - last->second.last;
}

Nanoseconds OpHistory::span_of(uint64_t ops) const {
  const uint64_t known = std::min<uint64_t>({ops, total_, ops_.size()});
  return known == 0 ? Nanoseconds(0) : Nanoseconds(last_end_ns_ - at(total_ - known).begin_ns);
}

}  // namespace optile::tuner
