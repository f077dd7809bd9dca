/* Binds each thread of its team by hand to one of the processors that it may use, as ONNX Runtime
 * does (ROCm/AMDMIGraphX#4496), and looks in every region whether it is still there. The argument
 * is how many regions. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNumbers = 20000 };

static int units[CPU_SETSIZE];
static int unit_count;

static cpu_set_t place_of_thread(void) {
  cpu_set_t place;
  CPU_ZERO(&place);
  CPU_SET((size_t)units[omp_get_thread_num() % unit_count], &place);
  return place;
}

static long bind_each(void) {
  long refused = 0;
#pragma omp parallel reduction(+ : refused)
  {
    const cpu_set_t place = place_of_thread();
    if (pthread_setaffinity_np(pthread_self(), sizeof place, &place) != 0) refused++;
  }
  return refused;
}

static long moved_threads(uint64_t* sum) {
  long moved = 0;
  uint64_t added = 0;
#pragma omp parallel reduction(+ : moved, added)
  {
    const cpu_set_t place = place_of_thread();
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0 || !CPU_EQUAL(&mask, &place)) moved++;
#pragma omp for
    for (int i = 0; i < kNumbers; i++) added += (uint64_t)i % 3;
  }
  *sum += added;
  return moved;
}

int main(int words, char** word) {
  const long regions = words > 1 ? strtol(word[1], NULL, 10) : 1;
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return 2;
  for (int unit = 0; unit < CPU_SETSIZE; unit++) {
    if (CPU_ISSET((size_t)unit, &all)) units[unit_count++] = unit;
  }
  const long refused = bind_each();
  long moved = 0;
  uint64_t sum = 0;
  for (long region = 0; region < regions; region++) moved += moved_threads(&sum);
  printf("binds itself: %ld regions, %ld refused, %ld moved, %lu\n", regions, refused, moved,
         (unsigned long)sum);
  return refused == 0 && moved == 0 ? 0 : 1;
}
