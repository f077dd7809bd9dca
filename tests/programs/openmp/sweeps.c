/* Opens one OpenMP region after the other until it is ended, and says how many threads they have
 * and for how many milliseconds idle ones spin, whenever one of the two changes. -1: the runtime
 * has no word for that. `sweeps PAUSE_MS` pauses for so long after each region. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kCells = 100000 };

static double cells[kCells];

static int block_time(void) {
  int (*ask)(void) = NULL;
  void* found = dlsym(RTLD_DEFAULT, "kmp_get_blocktime");
  memcpy(&ask, &found, sizeof ask);
  return ask == NULL ? -1 : ask();
}

static void pause_for(long milliseconds) {
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  if (milliseconds > 0) nanosleep(&pause, NULL);
}

int main(int count, char** words) {
  const long pause_ms = count > 1 ? atol(words[1]) : 0;
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
    pause_for(pause_ms);
    const int now = block_time();
    if (team == threads && now == spins) continue;
    threads = team;
    spins = now;
    printf("threads %d spin %d\n", threads, spins);
    fflush(stdout);
  }
}
