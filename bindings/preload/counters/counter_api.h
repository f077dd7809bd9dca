/* What the shim asks of its counter library, liboptile_counters.so, which is opened the first time
 * that a plan page asks for counters and never before. C11 and C++20.
 *
 * A thread's counters count that thread only. All calls may come from several threads at a time;
 * none blocks, prints or starts a thread. Errors are errno values, 0 is success. */
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPTILE_COUNTER_API_VERSION 1u

typedef struct optile_counters_found {
  uint32_t tier;   /* optile_counter_tier */
  uint32_t groups; /* of events that are counted together; never more than are at a time */
  int32_t refused; /* why a higher tier is not to be had; 0 = nothing was refused */
  uint32_t reserved;
  uint8_t events[OPTILE_COUNTER_GROUPS][OPTILE_GROUP_EVENTS]; /* optile_counter_event */
} optile_counters_found;

typedef struct optile_counter_api {
  uint32_t version; /* OPTILE_COUNTER_API_VERSION */
  uint32_t bytes;   /* sizeof(optile_counter_api) */
  /* Once, before anything else, outside of ops: takes milliseconds. */
  int (*find)(uint32_t highest_tier, optile_counters_found* found);
  /* The calling thread counts this group from now on, and no other. Opens descriptors the first
   * time. EBUSY: another thread is at it, to be tried again later. */
  int (*follow)(uint32_t group);
  /* Counts of the group since some time before; the caller takes differences. */
  int (*read)(uint64_t counts[OPTILE_GROUP_EVENTS]);
  /* The calling thread stops counting and gives back what it opened; so does a thread's end. */
  void (*leave)(void);
  /* Threads that have something open. */
  uint32_t (*followers)(void);
} optile_counter_api;

/* The library's one symbol. */
typedef const optile_counter_api* (*optile_counters_fn)(void);
#define OPTILE_COUNTERS_SYMBOL "optile_counters"
#define OPTILE_COUNTERS_LIBRARY "liboptile_counters.so"

#ifdef __cplusplus
}
#endif
