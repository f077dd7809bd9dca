// What waits to be written, by store: collected here, written together every few seconds, later and
// later while a store cannot be written. Owned by the controller; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "daemon/store/store.h"

namespace optile::daemon {

class StoreBatches {
 public:
  explicit StoreBatches(std::function<uint64_t()> monotonic_ns)
      : monotonic_ns_(std::move(monotonic_ns)) {}

  // To put something into; null: thrown away with the next call. The store outlives this.
  StoreBatch& of(Store* store);
  // What was put there is to be written at the next flush.
  void is_due(Store* store);
  // Within kTogether, with what others leave until then: a job's ranks end at once.
  static constexpr std::chrono::milliseconds kTogether{50};
  void is_due_soon(Store* store);
  // Before somebody reads there, and before something is put there that what is due must precede.
  void write_due(Store* store);
  // Writes what is due; `now`: also what is not.
  void flush(bool now);
  // How long until something is due or what could not be written is tried again; nullopt: never.
  std::optional<std::chrono::milliseconds> next_write() const;

  std::size_t pending() const;                 // records
  uint64_t writes() const { return writes_; }  // failed ones too

 private:
  struct Waiting {
    StoreBatch batch;
    uint64_t flush_at_ns = 0;         // by itself
    uint64_t due_at_ns = UINT64_MAX;  // since somebody said so
    uint64_t wait_ns = 0;
  };
  Waiting& waiting(Store* store);
  void is_due_at(Store* store, uint64_t at_ns);
  void write(Store* store, Waiting& one);

  std::function<uint64_t()> monotonic_ns_;
  std::map<Store*, Waiting> stores_;
  StoreBatch nowhere_;
  uint64_t writes_ = 0;
};

}  // namespace optile::daemon
