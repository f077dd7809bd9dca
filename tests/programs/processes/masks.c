/* Says where the threads of its teams may run, once at the first region and once after many: what
 * the user said about places must be what they have, all the time. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { kMost = 64, kRegions = 300 };
static cpu_set_t g_masks[kMost];

static int look(void) {
  int threads = 0;
#pragma omp parallel
  {
    const int me = omp_get_thread_num();
    if (me < kMost) sched_getaffinity(0, sizeof g_masks[me], &g_masks[me]);
#pragma omp single
    threads = omp_get_num_threads();
  }
  return threads;
}

static void print(const char* when, int threads) {
  printf("%s: %d threads\n", when, threads);
  for (int i = 0; i < threads && i < kMost; i++) {
    printf("  %d:", i);
    for (size_t unit = 0; unit < CPU_SETSIZE; unit++) {
      if (CPU_ISSET(unit, &g_masks[i])) printf(" %zu", unit);
    }
    printf("\n");
  }
}

int main(void) {
  print("first", look());
  int threads = 0;
  for (int i = 0; i < kRegions; i++) threads = look();
  print("last", threads);
  return 0;
}
