// The latest ops of a thread in order, and which of their places have come again. Positions count
// from the first op on. Pure, bounded memory; owned by the period detector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "perfmodel/profile/op.h"
#include "perfmodel/profile/profile.h"

namespace optile::tuner {

struct PlaceHash {
  std::size_t operator()(const perfmodel::OpPlace& place) const;
};

class OpHistory {
 public:
  static constexpr std::size_t kMost = 32768;  // ops remembered

  struct Op {
    perfmodel::OpPlace place;
    int64_t begin_ns = 0;
    int64_t gap_ns = 0;  // idle time before it
  };

  void add(perfmodel::OpPlace place, perfmodel::Nanoseconds begin, perfmodel::Nanoseconds duration);
  // What came before the latest op is no evidence any more.
  void begin_evidence();

  uint64_t total() const { return total_; }
  const std::vector<Op>& remembered() const { return ops_; }  // in no order
  const Op& at(uint64_t position) const { return ops_[position % kMost]; }
  // Ops since the place was last met, at the next position; 0 = not met.
  uint64_t distance_to(const perfmodel::OpPlace& place) const;
  // How long the latest `ops` went on, by the clock.
  perfmodel::Nanoseconds span_of(uint64_t ops) const;

  // Since the evidence begins: ops, places, and those that did not come again so far.
  uint64_t evidence() const { return total_ - origin_; }
  uint64_t places() const { return places_; }
  uint64_t places_met_once() const { return met_once_; }

 private:
  struct Place {
    uint64_t last = 0;  // position of the latest occurrence
    int count = 0;      // since origin_: 1, or 2 for more
  };

  void forget_old_places();

  std::vector<Op> ops_;
  std::unordered_map<perfmodel::OpPlace, Place, PlaceHash> last_met_;
  uint64_t places_ = 0;
  uint64_t met_once_ = 0;
  uint64_t total_ = 0;
  uint64_t origin_ = 0;  // where the evidence begins: the start, or the loss of a step
  int64_t last_end_ns_ = 0;
};

}  // namespace optile::tuner
