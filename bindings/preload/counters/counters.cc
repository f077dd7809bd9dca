// The library's face: the highest tier that is granted, behind the calls of counter_api.h.
#include <errno.h>

#include "bindings/preload/counters/accounting_source.h"
#include "bindings/preload/counters/counter_api.h"
#include "bindings/preload/counters/papi_source.h"

namespace optile::counters {
namespace {

bool by_papi = false;

// Hardware, then the kernel's events, then what it keeps of every thread anyway.
int find(uint32_t highest_tier, optile_counters_found* found) {
  *found = {};
  int refused = 0;
  for (uint32_t tier = highest_tier; tier >= OPTILE_COUNTERS_SOFTWARE; --tier) {
    const int why = find_papi(tier, found);
    by_papi = why == 0;
    if (by_papi) break;
    if (refused == 0) refused = why;
  }
  if (!by_papi) describe_accounting(found);
  found->refused = refused;
  return 0;
}

int follow(uint32_t group) {
  if (by_papi) return follow_papi(group);
  return group == 0 ? 0 : EINVAL;
}

int read(uint64_t counts[OPTILE_GROUP_EVENTS]) {
  return by_papi ? read_papi(counts) : read_accounting(counts);
}

void leave() {
  if (by_papi) leave_papi();
}

uint32_t followers() {
  return by_papi ? papi_followers() : 0;
}

constexpr optile_counter_api kApi = {
    OPTILE_COUNTER_API_VERSION, sizeof(optile_counter_api), find, follow, read, leave, followers};

}  // namespace
}  // namespace optile::counters

extern "C" __attribute__((visibility("default"))) const optile_counter_api* optile_counters() {
  return &optile::counters::kApi;
}
