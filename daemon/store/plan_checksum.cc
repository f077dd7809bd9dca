#include "daemon/store/plan_checksum.h"

#include <bit>
#include <cmath>
#include <map>

#include "base/hash.h"

namespace optile::daemon {
namespace {

class Sum {
 public:
  void add(uint64_t word) { sum_ = base::hash_word(word, sum_); }
  void add(int number) { add(static_cast<uint64_t>(number)); }
  // As the store keeps it.
  void add(double number) { add(std::bit_cast<uint64_t>(std::isfinite(number) ? number : 0.0)); }
  uint64_t value() const { return sum_ == 0 ? 1 : sum_; }

 private:
  uint64_t sum_ = base::kHashSeed;
};

}  // namespace

uint64_t plan_checksum(const tuner::StoredPlan& plan) {
  Sum sum;
  sum.add(plan.step_fingerprint);
  sum.add(plan.default_width);
  sum.add(static_cast<int>(plan.binding));
  sum.add(plan.marker.place.key);
  sum.add(plan.marker.place.context);
  sum.add(plan.marker.ops);
  sum.add(plan.own_step_seconds);
  sum.add(plan.tuned_step_seconds);
  // Plans of stores before version 5 have none.
  if (plan.flow.admits()) sum.add(static_cast<int>(plan.flow.kind));
  std::map<perfmodel::OpPlace, const tuner::StoredEntry*> entries;
  for (const tuner::StoredEntry& entry : plan.entries) entries[entry.place] = &entry;
  for (const auto& [place, entry] : entries) {
    sum.add(place.key);
    sum.add(place.context);
    sum.add(entry->width);
    sum.add(static_cast<int>(entry->rule));
  }
  return sum.value();
}

}  // namespace optile::daemon
