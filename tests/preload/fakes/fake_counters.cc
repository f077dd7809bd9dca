// A counter library whose counts are known beforehand: the n-th read of a thread gives 10 n, 20 n,
// 30 n and 40 n. Three groups, hardware tier. OPTILE_FAKE_COUNTERS says what goes wrong: "find",
// "follow" or "read"; "read later" once a few reads went well.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/preload/counters/counter_api.h"

namespace {

constexpr uint64_t kGoodReads = 6;

thread_local uint32_t my_group = 0;
thread_local uint64_t my_reads = 0;
uint32_t followers = 0;

bool broken(const char* what) {
  const char* word = getenv("OPTILE_FAKE_COUNTERS");
  return word != nullptr && strcmp(word, what) == 0;
}

int find(uint32_t highest_tier, optile_counters_found* found) {
  if (broken("find")) return ENODEV;
  *found = {};
  found->tier = highest_tier;
  found->groups = 3;
  for (uint32_t i = 0; i < 3; ++i) {
    found->events[i][0] = OPTILE_COUNT_CYCLES;
    found->events[i][1] = OPTILE_COUNT_INSTRUCTIONS;
    found->events[i][2] = static_cast<uint8_t>(OPTILE_COUNT_LLC_ACCESSES + i);
  }
  return 0;
}

// The real ones open, read and close files, where a thread may be cancelled.
int follow(uint32_t group) {
  pthread_testcancel();
  if (broken("follow")) return EACCES;
  if (my_group == 0) __atomic_fetch_add(&followers, 1, __ATOMIC_RELAXED);
  my_group = group + 1;
  return 0;
}

int read(uint64_t counts[OPTILE_GROUP_EVENTS]) {
  pthread_testcancel();
  if (my_group == 0 || broken("read")) return EBADF;
  ++my_reads;
  if (broken("read later") && my_reads > kGoodReads) return EBADF;
  for (uint64_t i = 0; i < OPTILE_GROUP_EVENTS; ++i) counts[i] = my_reads * 10 * (i + 1);
  return 0;
}

void leave() {
  pthread_testcancel();
  if (my_group != 0) __atomic_fetch_sub(&followers, 1, __ATOMIC_RELAXED);
  my_group = 0;
}

uint32_t count_followers() {
  return __atomic_load_n(&followers, __ATOMIC_RELAXED);
}

constexpr optile_counter_api kApi = {OPTILE_COUNTER_API_VERSION,
                                     sizeof(optile_counter_api),
                                     find,
                                     follow,
                                     read,
                                     leave,
                                     count_followers};

}  // namespace

extern "C" const optile_counter_api* optile_counters() {
  return &kApi;
}
