#include "daemon/store_batches.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

constexpr uint64_t kFlushEveryNs = UINT64_C(3000000000);
constexpr uint64_t kLongestFlushWaitNs = UINT64_C(60000000000);  // after repeated failures

}  // namespace

StoreBatches::Waiting& StoreBatches::waiting(Store* store) {
  Waiting& found = stores_[store];
  if (found.wait_ns == 0) found.wait_ns = kFlushEveryNs;
  return found;
}

StoreBatch& StoreBatches::of(Store* store) {
  if (store != nullptr) return waiting(store).batch;
  nowhere_ = {};
  return nowhere_;
}

void StoreBatches::is_due(Store* store) {
  if (store == nullptr) return;
  Waiting& one = waiting(store);
  one.flush_at_ns = std::min(one.flush_at_ns, monotonic_ns_());
}

void StoreBatches::flush(bool now) {
  const uint64_t now_ns = monotonic_ns_();
  for (auto& [store, one] : stores_) {
    if (one.batch.empty() && !store->unsaved()) continue;
    const bool early = now_ns < one.flush_at_ns;
    if (!now && early) continue;
    ++writes_;
    if (store->write(std::exchange(one.batch, {})).ok()) {
      one.wait_ns = kFlushEveryNs;
    } else if (!early) {
      // By how long it has lasted, and not by how much happened meanwhile.
      one.wait_ns = std::min(one.wait_ns * 2, kLongestFlushWaitNs);
    }
    one.flush_at_ns = now_ns + one.wait_ns;
  }
}

std::optional<std::chrono::milliseconds> StoreBatches::next_write() const {
  std::optional<uint64_t> first;
  for (const auto& [store, one] : stores_) {
    if (store->unsaved()) first = std::min(first.value_or(UINT64_MAX), one.flush_at_ns);
  }
  if (!first) return std::nullopt;
  const uint64_t now_ns = monotonic_ns_();
  return std::chrono::milliseconds(*first > now_ns ? (*first - now_ns) / 1000000 + 1 : 0);
}

std::size_t StoreBatches::pending() const {
  std::size_t records = 0;
  for (const auto& [store, one] : stores_) records += one.batch.size() + store->unsaved_records();
  return records;
}

}  // namespace optile::daemon
