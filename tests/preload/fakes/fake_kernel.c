/* Regions as Inductor writes them: parts of a sum for as many threads as there can be, sized before
 * the team is there; and one with a clause. */
#include <omp.h>

int sum_of_parts(int count, int* team);
int team_of_clause(int threads);

int sum_of_parts(int count, int* team) {
  int most = omp_get_max_threads();
  int parts[64];
  int sum = 0;
  for (int i = 0; i < most; ++i) parts[i] = 0;
#pragma omp parallel
  {
    int part = 0;
#pragma omp for
    for (int i = 0; i < count; ++i) part += i;
    parts[omp_get_thread_num()] = part;
#pragma omp master
    *team = omp_get_num_threads();
  }
  for (int i = 0; i < most; ++i) sum += parts[i];
  return sum;
}

int team_of_clause(int threads) {
  int team = 0;
#pragma omp parallel num_threads(threads)
#pragma omp master
  team = omp_get_num_threads();
  return team;
}
