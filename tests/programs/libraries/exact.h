/* Numbers for the programs in this folder: small integers held in floats, so that every sum is
 * exact and comes out the same in whatever order, and at whatever width, a library adds them up. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The i-th number of the series `seed`: -2, -1, 0, 1 or 2. */
static inline float exact_number(uint32_t seed, size_t i) {
  uint32_t mixed = (uint32_t)i * 2654435761u + seed * 40503u + 12345u;
  mixed ^= mixed >> 15;
  mixed *= 2246822519u;
  mixed ^= mixed >> 13;
  return (float)((int)(mixed % 5u) - 2);
}

static inline void exact_fill(float* values, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) values[i] = exact_number(seed, i);
}

/* Never returns NULL: a test machine without memory is a failed test. */
static inline float* exact_floats(size_t count) {
  void* memory = NULL;
  if (posix_memalign(&memory, 64, count * sizeof(float)) != 0) {
    fprintf(stderr, "no memory for %zu floats\n", count);
    exit(2);
  }
  return (float*)memory;
}
