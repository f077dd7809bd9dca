/* Regions that name their number of threads get it, nested ones and ones of other sizes between
 * them included, and the count that regions without a clause use is not touched by them. */
#include <omp.h>
#include <stdio.h>

enum { kRounds = 200 };

static int team_of(int threads) {
  int size = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    size = omp_get_num_threads();
  }
  return size;
}

/* Two teams inside a team of two: four threads at the innermost level. */
static int nested_total(void) {
  int total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
  {
#pragma omp parallel num_threads(2) reduction(+ : total)
    total += 1;
  }
  return total;
}

int main(void) {
  long wrong = 0;
  const int before = omp_get_max_threads();
  omp_set_max_active_levels(2);
  for (int round = 0; round < kRounds; round++) {
    const int threads = 1 + round % 4;
    if (team_of(threads) != threads) wrong++;
    if (round % 20 == 0 && nested_total() != 4) wrong++;
    if (omp_get_max_threads() != before) wrong++;
  }
  printf("clauses: %d rounds, %ld surprises\n", kRounds, wrong);
  return wrong == 0 ? 0 : 1;
}
