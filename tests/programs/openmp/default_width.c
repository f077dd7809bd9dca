/* A program that chooses its default width: what it asked for is what it sees and what it gets. */
#include <omp.h>
#include <stdio.h>

enum { kRounds = 300 };

static int team_size(void) {
  int size = 0;
#pragma omp parallel
  {
#pragma omp single
    size = omp_get_num_threads();
  }
  return size;
}

int main(void) {
  static const int kWidths[] = {2, 1, 2, 2, 1};
  long wrong = 0;
  for (size_t i = 0; i < sizeof kWidths / sizeof kWidths[0]; i++) {
    omp_set_num_threads(kWidths[i]);
    for (int round = 0; round < kRounds; round++) {
      if (omp_get_max_threads() != kWidths[i]) wrong++;
      if (team_size() != kWidths[i]) wrong++;
      if (omp_get_max_threads() != kWidths[i]) wrong++;
    }
  }
  printf("default width: %d at the end, %ld surprises\n", omp_get_max_threads(), wrong);
  return wrong == 0 ? 0 : 1;
}
