/* Two OpenMP regions that take turns: one with much to do, one with next to nothing. What they
 * compute is the same whatever the size of their teams, and is printed; the sizes go into the file
 * that the first argument names, a line for each region. The second argument is how many steps.
 * Like most programs it neither asks for nor sets the number of threads. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMostThreads = 64, kLarge = 240000, kSmall = 64, kSmallEach = 2 };

extern int omp_get_num_threads(void);

static uint32_t large[kLarge];
static uint32_t small[kSmall];
static long teams[2][kMostThreads + 1];

static void count(int region) {
  const int size = omp_get_num_threads();
  teams[region][size < kMostThreads ? size : kMostThreads]++;
}

static uint32_t mix(uint32_t word) {
  word ^= word >> 16;
  word *= UINT32_C(0x7feb352d);
  word ^= word >> 15;
  word *= UINT32_C(0x846ca68b);
  return word ^ (word >> 16);
}

static void much(void) {
#pragma omp parallel
  {
#pragma omp master
    count(0);
#pragma omp for schedule(static)
    for (int i = 0; i < kLarge; i++) large[i] = mix(mix(mix(large[i] + (uint32_t)i)));
  }
}

static void little(void) {
#pragma omp parallel
  {
#pragma omp master
    count(1);
#pragma omp for schedule(static)
    for (int i = 0; i < kSmall; i++) small[i] = mix(small[i] ^ large[i]);
  }
}

static int write_teams(const char* path) {
  FILE* file = fopen(path, "w");
  if (file == NULL) return 2;
  for (int region = 0; region < 2; region++) {
    for (int size = 1; size <= kMostThreads; size++) {
      if (teams[region][size] != 0) fprintf(file, "%d:%ld ", size, teams[region][size]);
    }
    fprintf(file, "\n");
  }
  return fclose(file) == 0 ? 0 : 2;
}

int main(int words, char** word) {
  if (words < 3) return 2;
  const long steps = strtol(word[2], NULL, 10);
  for (long step = 0; step < steps; step++) {
    much();
    for (int i = 0; i < kSmallEach; i++) little();
  }
  uint32_t sum = 0;
  for (int i = 0; i < kLarge; i++) sum = mix(sum + large[i]);
  for (int i = 0; i < kSmall; i++) sum = mix(sum + small[i]);
  printf("two regions: %ld steps, sum %08" PRIx32 "\n", steps, sum);
  return write_teams(word[1]);
}
