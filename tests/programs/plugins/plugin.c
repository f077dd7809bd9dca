/* A plugin with regions of its own, built twice: against the machine's OpenMP runtime and against a
 * renamed copy of it. It divides its work by the thread numbers that its own runtime tells, so a
 * region that runs in the other copy gives a wrong sum. */
#include <omp.h>

enum { kCount = 1000 };

__attribute__((visibility("default"))) long plugin_sum(void);
__attribute__((visibility("default"))) int plugin_width(void);
__attribute__((visibility("default"))) void plugin_set_width(int width);

long plugin_sum(void) {
  long sum = 0;
#pragma omp parallel num_threads(3)
  {
    const int threads = omp_get_num_threads();
    long own = 0;
    for (int i = omp_get_thread_num(); i < kCount; i += threads) own += i;
#pragma omp atomic
    sum += own;
#pragma omp barrier
  }
  return sum;
}

int plugin_width(void) {
  int size = 0;
#pragma omp parallel
  {
#pragma omp single
    size = omp_get_num_threads();
  }
  return size;
}

void plugin_set_width(int width) {
  omp_set_num_threads(width);
}
