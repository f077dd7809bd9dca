// Whether so much wants to run at this moment that whoever waits, were it for a microsecond, goes
// to the end of a long queue: as when hundreds of programs start together.
#pragma once

#include <stdint.h>

namespace optile::preload {

// ---- pure --------------------------------------------------------------------------------------

struct RunqueuePressure {
  // On an ordinary busy machine a few threads share a processor, and a wait ends within a few turns
  // of theirs. With more than so many it takes tens of milliseconds.
  static constexpr uint32_t kMostPerProcessor = 8;
  // What a newcomer and the daemon need until it is attached, and the longest that anybody is told
  // to stay away.
  static constexpr uint64_t kTurnNs = UINT64_C(500000);
  static constexpr uint64_t kLongestNs = UINT64_C(1000000000);

  uint32_t runnable = 0;
  uint32_t processors = 1;

  bool is_one() const { return runnable > uint64_t{processors} * kMostPerProcessor; }

  // When to come instead: somewhere in the time that all of them need. `random`: any number.
  uint64_t put_off_ns(uint64_t random) const {
    const uint64_t all = runnable * kTurnNs;
    return random % ((all < kLongestNs ? all : kLongestNs) + 1);
  }
};

// The number that begins at `*text`, which is moved behind it; one too large ends before its end.
inline uint32_t read_number(const char** text) {
  uint32_t number = 0;
  for (; **text >= '0' && **text <= '9' && number < 1000000; ++*text) {
    number = number * 10 + static_cast<uint32_t>(**text - '0');
  }
  return number;
}

// What wants to run by the text of /proc/loadavg: "0.75 2.59 2.14 3/102 23418". 0: not understood.
inline uint32_t runnable_in(const char* loadavg) {
  for (int field = 0; field < 3; ++loadavg) {
    if (*loadavg == '\0') return 0;
    if (*loadavg == ' ') ++field;
  }
  const uint32_t runnable = read_number(&loadavg);
  return *loadavg == '/' ? runnable : 0;
}

// How many processors the kernel's words for a set of them name: "0-3,8,10-11". 0: not understood.
inline uint32_t processors_in(const char* list) {
  uint32_t count = 0;
  while (*list >= '0' && *list <= '9') {
    const uint32_t first = read_number(&list);
    uint32_t last = first;
    if (*list == '-') {
      ++list;
      last = read_number(&list);
    }
    if (last < first) return 0;
    count += last - first + 1;
    if (*list == ',') ++list;
  }
  return *list == '\n' || *list == '\0' ? count : 0;
}

// ---- the machine -------------------------------------------------------------------------------

// Now; `usable`: how many processors this process may use, at least. A few microseconds.
RunqueuePressure runqueue_pressure_now(uint32_t usable);

}  // namespace optile::preload
