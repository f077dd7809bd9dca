/* A plugin with regions of its own, built twice: against the machine's OpenMP runtime and against a
 * renamed copy of it. It divides its work by the thread numbers that its own runtime tells, so a
 * region that runs in the other copy gives a wrong sum. */
#include <omp.h>

enum { kCount = 1000 };

__attribute__((visibility("default"))) long plugin_sum(void);
__attribute__((visibility("default"))) int plugin_width(void);
__attribute__((visibility("default"))) void plugin_set_width(int width);

long plugin_sum(void) {
  long parts[64] = {0};
#pragma omp parallel num_threads(3)
  {
    const int thread = omp_get_thread_num();
    const int threads = omp_get_num_threads();
    if (threads <= 64) {
      for (int i = thread; i < kCount; i += threads) parts[thread] += i;
    }
#pragma omp barrier
  }
  long sum = 0;
  for (int i = 0; i < 64; i++) sum += parts[i];
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
