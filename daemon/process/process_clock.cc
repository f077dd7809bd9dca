#include "daemon/process/process_clock.h"

#include <ctime>

#include "daemon/process/process_entry.h"

namespace optile::daemon {

std::optional<std::chrono::milliseconds> process_cpu_time(int pid) {
  clockid_t clock{};
  timespec used{};
  // 0 would be this process.
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0) return std::nullopt;
  if (clock_gettime(clock, &used) != 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec));
}

std::optional<std::chrono::nanoseconds> threads_demand(int pid, const std::vector<int>& threads) {
  const base::Result<ProcessEntry> process = ProcessEntry::open(pid);
  if (!process.ok()) return std::nullopt;
  std::optional<std::chrono::nanoseconds> all;
  for (const int thread : threads) {
    const std::optional<std::chrono::nanoseconds> one = process.value().thread_demand(thread);
    if (one) all = all.value_or(std::chrono::nanoseconds(0)) + *one;
  }
  return all;
}

}  // namespace optile::daemon
