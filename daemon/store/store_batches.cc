#include "daemon/store/store_batches.h"

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
  is_due_at(store, monotonic_ns_());
}

void StoreBatches::is_due_soon(Store* store) {
  is_due_at(store, monotonic_ns_() + std::chrono::nanoseconds(kTogether).count());
}

void StoreBatches::is_due_at(Store* store, uint64_t at_ns) {
  if (store == nullptr) return;
  Waiting& one = waiting(store);
  if (!one.batch.empty() || store->unsaved()) one.due_at_ns = std::min(one.due_at_ns, at_ns);
}

void StoreBatches::write_due(Store* store) {
  const auto found = stores_.find(store);
  if (found != stores_.end() && found->second.due_at_ns != UINT64_MAX) write(store, found->second);
}

void StoreBatches::flush(bool now) {
  const uint64_t now_ns = monotonic_ns_();
  for (auto& [store, one] : stores_) {
    if (one.batch.empty() && !store->unsaved()) continue;
    if (now || now_ns >= std::min(one.flush_at_ns, one.due_at_ns)) write(store, one);
  }
}

void StoreBatches::write(Store* store, Waiting& one) {
  const uint64_t now_ns = monotonic_ns_();
  const bool early = now_ns < one.flush_at_ns;
  ++writes_;
  one.due_at_ns = UINT64_MAX;
  if (store->write(std::exchange(one.batch, {})).ok()) {
    one.wait_ns = kFlushEveryNs;
  } else if (!early) {
    // By how long it has lasted, and not by how much happened meanwhile.
    one.wait_ns = std::min(one.wait_ns * 2, kLongestFlushWaitNs);
  }
  one.flush_at_ns = now_ns + one.wait_ns;
}

std::optional<std::chrono::milliseconds> StoreBatches::next_write() const {
  std::optional<uint64_t> first;
  for (const auto& [store, one] : stores_) {
    uint64_t next = one.due_at_ns;
    if (store->unsaved()) next = std::min(next, one.flush_at_ns);
    if (next != UINT64_MAX) first = std::min(first.value_or(UINT64_MAX), next);
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
