/* Sums that each thread keeps from one OpenMP region to the next, where all of them are added up.
 * OpenMP promises that they are still there as long as the number of threads stays: a second region
 * with fewer threads than the first would lose some. Neither asks for nor sets the number of
 * threads. The argument is how many steps. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNumbers = 40000 };

static uint64_t sum;
#pragma omp threadprivate(sum)

static uint64_t total;

static void add_up_each(uint64_t step) {
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < kNumbers; i++) sum += (i + step) * UINT64_C(0x9e3779b97f4a7c15);
}

static void add_up_all(void) {
#pragma omp parallel
  {
#pragma omp atomic
    total += sum;
    sum = 0;
  }
}

int main(int words, char** word) {
  const long steps = words > 1 ? strtol(word[1], NULL, 10) : 1;
  for (long step = 0; step < steps; step++) {
    add_up_each((uint64_t)step);
    add_up_all();
  }
  printf("sums per thread: %ld steps, %016" PRIx64 "\n", steps, total);
  return 0;
}
