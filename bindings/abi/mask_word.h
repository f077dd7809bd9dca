/* A mask of processing units as one word: both sides tell by it whether two masks are the same, and
 * one word cannot be read half written. C11 and C++20. */
#pragma once

#include <stdint.h>

#include "bindings/abi/limits.h"

#define OPTILE_MASK_WORDS (OPTILE_MAX_CPUS / 64u)

/* Of a mask whose bit i is the processing unit with the os index i. Never 0. */
static inline uint64_t optile_mask_word(const uint64_t* units) {
  uint64_t mixed = UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; i < OPTILE_MASK_WORDS; ++i) {
    mixed = (mixed ^ units[i]) * UINT64_C(0xff51afd7ed558ccd);
    mixed ^= mixed >> 32;
  }
  return mixed == 0 ? 1 : mixed;
}
