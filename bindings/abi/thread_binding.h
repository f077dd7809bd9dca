/* What a program says about a thread's place, for the daemon to keep to. C11 and C++20. */
#pragma once

#include <stdint.h>

#include "bindings/abi/limits.h"

/* The latest mask that the program itself has set for a thread, written before the call. */
typedef struct optile_thread_binding {
  uint64_t count;  /* odd while the other words are written */
  uint64_t thread; /* twice its tid, and 1 more until the call is over; 0 = none */
  uint64_t units[OPTILE_MAX_CPUS / 64u]; /* by os index */
} optile_thread_binding;
