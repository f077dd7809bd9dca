/* A region whose threads wait for as many as the first team had, as programs do that count their
 * threads once: with fewer it never returns. Beside it one that does not care. The argument is how
 * many steps. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kCells = 20000 };

extern int omp_get_num_threads(void);

static long cells[kCells];
static int everybody = 0;

static void work(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < kCells; i++) cells[i] = (cells[i] * 5 + i) % 1000003;
}

static void meet(void) {
  int arrived = 0;
#pragma omp parallel shared(arrived)
  {
#pragma omp single
    {
      if (everybody == 0) everybody = omp_get_num_threads();
    }
    __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
    const struct timespec moment = {0, 20000};
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < everybody) nanosleep(&moment, NULL);
  }
}

int main(int words, char** word) {
  if (words < 2) return 2;
  const long steps = strtol(word[1], NULL, 10);
  for (long step = 0; step < steps; step++) {
    work();
    meet();
  }
  long sum = 0;
  for (int i = 0; i < kCells; i++) sum += cells[i];
  printf("waits for all: %ld steps, sum %ld\n", steps, sum);
  return 0;
}
