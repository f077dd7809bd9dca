// What was counted in the executions of ops while profiling, summed up by op and width. Plain
// values, owned by one daemon client; one thread. Widths are never decided by counts: they explain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "perfmodel/profile/profile.h"

namespace optile::perfmodel {

// The numbers are those of optile_counter_event.
enum class CountedEvent : uint8_t {
  kNothing,
  kCycles,
  kInstructions,
  kLlcAccesses,
  kLlcMisses,
  kL1Hits,
  kTaskClockNs,
  kPageFaults,
  kContextSwitches,
  kMigrations,
};
inline constexpr std::size_t kCountedEvents = 10;
const char* counted_event_name(CountedEvent event);  // "llc_misses"

enum class CounterTier : uint8_t { kNone, kSoftware, kHardware };
const char* counter_tier_name(CounterTier tier);

// Reading counters takes about a microsecond on each thread at each end of an op and of a region:
// in what is shorter than this, a good part of the counts would be the reading's own.
inline constexpr Nanoseconds kLeastCounted = std::chrono::microseconds(50);

// One execution, with what was counted in it together.
struct CountedExecution {
  uint64_t key = 0;
  int width = 0;
  Nanoseconds duration{0};
  uint32_t regions = 0;
  uint32_t threads = 0;  // that were counted
  std::array<CountedEvent, 4> events{};
  std::array<uint64_t, 4> counts{};
};

// Of all executions of an op at one width. Groups of events take turns, so every event has its own
// number of executions.
class OpCounts {
 public:
  void add(const CountedExecution& execution);

  uint64_t executions() const { return executions_; }  // that count for something
  uint64_t too_short() const { return too_short_; }
  double threads() const;  // counted ones, mean
  // Per execution; nullopt where the event was never counted.
  std::optional<double> mean(CountedEvent event) const;
  // Mean of one for one of the other; nullopt where either is missing or nothing.
  std::optional<double> ratio(CountedEvent event, CountedEvent per) const;
  // Task clock over wall time: how many processors worked on it.
  std::optional<double> busy_cores() const;

 private:
  struct Sum {
    double counts = 0;
    double wall_ns = 0;
    uint64_t executions = 0;
  };
  uint64_t executions_ = 0;
  uint64_t too_short_ = 0;
  double threads_ = 0;
  std::array<Sum, kCountedEvents> sums_;
};

// By key and width.
class Counts {
 public:
  static constexpr std::size_t kMostWidths = 16;  // of an op; what runs at further ones is left out

  void add(const CountedExecution& execution);
  // At this width, else at the width that was counted most often; null when none was.
  const OpCounts* find(uint64_t key, int width) const;
  uint64_t executions() const { return executions_; }

 private:
  std::map<uint64_t, std::map<int, OpCounts>> ops_;
  uint64_t executions_ = 0;
};

}  // namespace optile::perfmodel
