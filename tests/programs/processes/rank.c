/* One of many: a few regions for every byte that it reads, a line for each, until its input ends.
 * Between them it uses no processor, so that a machine can hold hundreds. */
#include <omp.h>
#include <stdio.h>

enum { kRegions = 20 };

static long threads_seen(void) {
  long threads = 0;
  for (int region = 0; region < kRegions; region++) {
#pragma omp parallel reduction(+ : threads)
    threads += 1;
  }
  return threads;
}

int main(void) {
  do {
    printf("%s\n", threads_seen() >= kRegions ? "ran" : "lost a region");
    fflush(stdout);
  } while (getchar() != EOF);
  return 0;
}
