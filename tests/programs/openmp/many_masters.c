/* Several threads of the program open teams at the same time, more of them than a client has
 * thread slots, and each may have a width of its own. */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kMasters = 12, kRounds = 60, kCount = 400 };
static const long kExpected = (long)kCount * (kCount - 1) / 2;
static atomic_long g_wrong;

static void* master(void* argument) {
  const int width = *(const int*)argument;
  omp_set_num_threads(width);
  for (int round = 0; round < kRounds; round++) {
    long sum = 0;
    int size = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp single nowait
      size = omp_get_num_threads();
      for (int i = omp_get_thread_num(); i < kCount; i += omp_get_num_threads()) sum += i;
    }
    if (sum != kExpected || size != width || omp_get_max_threads() != width) {
      atomic_fetch_add(&g_wrong, 1);
    }
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kMasters];
  int widths[kMasters];
  for (int i = 0; i < kMasters; i++) {
    widths[i] = 1 + i % 3;
    if (pthread_create(&threads[i], NULL, master, &widths[i]) != 0) return 2;
  }
  for (int i = 0; i < kMasters; i++) pthread_join(threads[i], NULL);
  printf("masters: %d threads, %ld wrong regions\n", kMasters, atomic_load(&g_wrong));
  return atomic_load(&g_wrong) == 0 ? 0 : 1;
}
