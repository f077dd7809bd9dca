#include "daemon/process_clock.h"

#include <ctime>

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

}  // namespace optile::daemon
