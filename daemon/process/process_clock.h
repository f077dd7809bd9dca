// The processor time that a process has used: a call without /proc, since it is made every few
// milliseconds of each client that begins no op.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace optile::daemon {

// Of all its threads so far, ended ones included; of those that run now as of the kernel's latest
// tick. nullopt when there is no such process (any more). Any thread.
std::optional<std::chrono::milliseconds> process_cpu_time(int pid);

// For how long these threads of it have run or waited for a processor so far, all together; of
// those that are gone, nothing. nullopt where the kernel does not count it. Any thread.
std::optional<std::chrono::nanoseconds> threads_demand(int pid, const std::vector<int>& threads);

}  // namespace optile::daemon
