/* A sum that a region of the full width makes, and what it has to be. */
#pragma once

enum { kCount = 1000 };
static const long kExpected = (long)kCount * (kCount - 1) / 2;

static inline long sum(void) {
  long total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int i = 0; i < kCount; i++) total += i;
  return total;
}
