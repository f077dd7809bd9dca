#include "perfmodel/profile/counts.h"

namespace optile::perfmodel {

const char* counted_event_name(CountedEvent event) {
  switch (event) {
    case CountedEvent::kNothing:
      break;
    case CountedEvent::kCycles:
      return "cycles";
    case CountedEvent::kInstructions:
      return "instructions";
    case CountedEvent::kLlcAccesses:
      return "llc_accesses";
    case CountedEvent::kLlcMisses:
      return "llc_misses";
    case CountedEvent::kL1Hits:
      return "l1_hits";
    case CountedEvent::kTaskClockNs:
      return "task_clock_ns";
    case CountedEvent::kPageFaults:
      return "page_faults";
    case CountedEvent::kContextSwitches:
      return "context_switches";
    case CountedEvent::kMigrations:
      return "migrations";
  }
  return "nothing";
}

const char* counter_tier_name(CounterTier tier) {
  switch (tier) {
    case CounterTier::kNone:
      break;
    case CounterTier::kSoftware:
      return "software";
    case CounterTier::kHardware:
      return "hardware";
  }
  return "none";
}

void OpCounts::add(const CountedExecution& execution) {
  // Workers read at both ends of every region.
  const Nanoseconds part = execution.duration / (execution.regions > 1 ? execution.regions : 1);
  if (part < kLeastCounted) {
    ++too_short_;
    return;
  }
  ++executions_;
  threads_ += execution.threads;
  for (std::size_t i = 0; i < execution.events.size(); ++i) {
    const auto event = static_cast<std::size_t>(execution.events[i]);
    if (event == 0 || event >= kCountedEvents) continue;
    sums_[event].counts += static_cast<double>(execution.counts[i]);
    sums_[event].wall_ns += static_cast<double>(execution.duration.count());
    ++sums_[event].executions;
  }
}

double OpCounts::threads() const {
  return executions_ == 0 ? 0 : threads_ / static_cast<double>(executions_);
}

std::optional<double> OpCounts::mean(CountedEvent event) const {
  const Sum& sum = sums_[static_cast<std::size_t>(event)];
  if (sum.executions == 0) return std::nullopt;
  return sum.counts / static_cast<double>(sum.executions);
}

std::optional<double> OpCounts::ratio(CountedEvent event, CountedEvent per) const {
  const std::optional<double> upper = mean(event);
  const std::optional<double> lower = mean(per);
  if (!upper || !lower || *lower <= 0) return std::nullopt;
  return *upper / *lower;
}

std::optional<double> OpCounts::busy_cores() const {
  const Sum& clock = sums_[static_cast<std::size_t>(CountedEvent::kTaskClockNs)];
  if (clock.executions == 0 || clock.wall_ns <= 0) return std::nullopt;
  return clock.counts / clock.wall_ns;
}

void Counts::add(const CountedExecution& execution) {
  std::map<int, OpCounts>& widths = ops_[execution.key];
  if (widths.size() >= kMostWidths && widths.count(execution.width) == 0) return;
  widths[execution.width].add(execution);
  ++executions_;
}

const OpCounts* Counts::find(uint64_t key, int width) const {
  const auto op = ops_.find(key);
  if (op == ops_.end()) return nullptr;
  const auto exact = op->second.find(width);
  if (exact != op->second.end()) return &exact->second;
  const OpCounts* most = nullptr;
  for (const auto& [at, counts] : op->second) {
    if (most == nullptr || counts.executions() > most->executions()) most = &counts;
  }
  return most;
}

}  // namespace optile::perfmodel
