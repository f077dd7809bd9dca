#include "bindings/preload/counters/accounting_source.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>

namespace optile::counters {

void describe_accounting(optile_counters_found* found) {
  found->tier = OPTILE_COUNTERS_SOFTWARE;
  found->groups = 1;
  found->events[0][0] = OPTILE_COUNT_TASK_CLOCK_NS;
  found->events[0][1] = OPTILE_COUNT_PAGE_FAULTS;
  found->events[0][2] = OPTILE_COUNT_CONTEXT_SWITCHES;
  found->events[0][3] = OPTILE_COUNT_NOTHING;  // nobody keeps a thread's migrations
}

int read_accounting(uint64_t counts[OPTILE_GROUP_EVENTS]) {
  timespec used = {};
  rusage usage = {};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return errno;
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return errno;
  counts[0] = static_cast<uint64_t>(used.tv_sec) * 1000000000 + static_cast<uint64_t>(used.tv_nsec);
  counts[1] = static_cast<uint64_t>(usage.ru_minflt) + static_cast<uint64_t>(usage.ru_majflt);
  counts[2] = static_cast<uint64_t>(usage.ru_nvcsw) + static_cast<uint64_t>(usage.ru_nivcsw);
  counts[3] = 0;
  return 0;
}

}  // namespace optile::counters
