/* Short OpenMP regions in bursts, with pauses between them: `regions BURST PAUSE_MS` makes steps of
 * BURST pairs of regions and a pause, until it is ended. Prints, twenty times a second at most, the
 * monotonic clock in seconds and the steps so far. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kElements = 200000 };

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_for(double milliseconds) {
  const long nanoseconds = (long)(milliseconds * 1e6);
  const struct timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  nanosleep(&pause, NULL);
}

int main(int count, char** words) {
  if (count != 3) {
    fprintf(stderr, "regions BURST PAUSE_MS\n");
    return 2;
  }
  const int burst = atoi(words[1]);
  const double pause_ms = atof(words[2]);
  double* a = malloc(kElements * sizeof *a);
  double* b = malloc(kElements * sizeof *b);
  double sum = 0, told = 0;
  if (a == NULL || b == NULL) return 1;
  for (int i = 0; i < kElements; i++) a[i] = b[i] = i;
  for (long steps = 0;; ++steps) {
    const double now = now_seconds();
    if (now - told > 0.05) {
      printf("%.6f %ld\n", now, steps);
      fflush(stdout);
      told = now;
    }
    for (int k = 0; k < burst; k++) {
#pragma omp parallel for
      for (int i = 0; i < kElements; i++) a[i] = a[i] * 0.999 + b[i];
#pragma omp parallel for reduction(+ : sum)
      for (int i = 0; i < kElements; i++) sum += a[i];
    }
    if (pause_ms > 0) pause_for(pause_ms);
    if (sum == -1) return 0; /* never: the sums are used */
  }
}
