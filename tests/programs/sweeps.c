/* Opens one OpenMP region after the other until it is ended, and says how many threads they have
 * and for how many milliseconds idle ones spin, whenever one of the two changes. -1: the runtime
 * has no word for that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { kCells = 100000 };

static double cells[kCells];

static int block_time(void) {
  int (*ask)(void) = NULL;
  void* found = dlsym(RTLD_DEFAULT, "kmp_get_blocktime");
  memcpy(&ask, &found, sizeof ask);
  return ask == NULL ? -1 : ask();
}

int main(void) {
  int threads = 0;
  int spins = -2;
  for (;;) {
    int team = 0;
#pragma omp parallel
    {
#pragma omp single
      team = omp_get_num_threads();
#pragma omp for schedule(static)
      for (int i = 0; i < kCells; i++) cells[i] = cells[i] * 0.5 + i;
    }
    const int now = block_time();
    if (team == threads && now == spins) continue;
    threads = team;
    spins = now;
    printf("threads %d spin %d\n", threads, spins);
    fflush(stdout);
  }
}
