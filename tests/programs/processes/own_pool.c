/* A program with a pool of its own, which nothing but masks can narrow. Its pool has as many
 * threads as the program may use cores when it starts; "none": no thread at all. Says how many,
 * then computes a sum with all of them for each line that it reads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 64, kItems = 1 << 20 };
static pthread_barrier_t g_begin, g_end;
static int g_threads, g_ended;
static double g_sums[kMost];

static void* work(void* argument) {
  const long me = (long)argument;
  for (;;) {
    pthread_barrier_wait(&g_begin);
    if (g_ended) return NULL;
    double sum = 0;
    for (long i = me; i < kItems; i += g_threads) sum += (double)i;
    g_sums[me] = sum;
    pthread_barrier_wait(&g_end);
  }
}

static void print_sum(void) {
  pthread_barrier_wait(&g_begin);
  pthread_barrier_wait(&g_end);
  double sum = 0;
  for (int i = 0; i < g_threads; i++) sum += g_sums[i];
  printf("sum %.0f\n", sum);
}

int main(int argc, char** argv) {
  static pthread_t threads[kMost];
  char line[64];
  setvbuf(stdout, NULL, _IOLBF, 0);
  cpu_set_t units;
  if (sched_getaffinity(0, sizeof units, &units) != 0) return 1;
  g_threads = CPU_COUNT(&units) < kMost ? CPU_COUNT(&units) : kMost;
  if (argc > 1 && strcmp(argv[1], "none") == 0) g_threads = 0;
  pthread_barrier_init(&g_begin, NULL, (unsigned)g_threads + 1);
  pthread_barrier_init(&g_end, NULL, (unsigned)g_threads + 1);
  for (long i = 0; i < g_threads; i++) {
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 1;
  }
  printf("threads %d\n", g_threads);
  while (fgets(line, sizeof line, stdin) != NULL) print_sum();
  g_ended = 1;
  pthread_barrier_wait(&g_begin);
  for (int i = 0; i < g_threads; i++) pthread_join(threads[i], NULL);
  puts("end");
  return 0;
}
