/* Threads that are cancelled in the middle of an op that they announced, with regions inside: more
 * of them than a process has rings, one after the other and side by side. Whoever issues ops
 * afterwards must find everything as if they had never been there. */
#define _GNU_SOURCE
#include <omp.h>
#include <optile/annotate.h>
#include <pthread.h>
#include <stdio.h>

enum { kGenerations = 8, kBeside = 4, kCount = 1000, kOps = 50 };
static const long kExpected = (long)kCount * (kCount - 1) / 2;
static long g_wrong;

static long sum(void) {
  long total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int i = 0; i < kCount; i++) total += i;
  return total;
}

/* It never gets out of its op: the cancellation comes inside. */
static void* issue_until_cancelled(void* begun) {
  const int64_t shape[] = {kCount};
  optile_op outer;
  optile_op inner;
  optile_op_begin(&outer, "never ends", shape, 1);
  for (int round = 0;; round++) {
    optile_op_begin(&inner, "inside", NULL, 0);
    if (sum() != kExpected) __atomic_fetch_add(&g_wrong, 1, __ATOMIC_RELAXED);
    if (round == 1) pthread_barrier_wait(begun);
    pthread_testcancel();
    optile_op_end(&inner);
  }
  return NULL;
}

static void cancel_some(void) {
  pthread_t threads[kBeside];
  pthread_barrier_t begun;
  pthread_barrier_init(&begun, NULL, kBeside + 1);
  for (int i = 0; i < kBeside; i++) {
    if (pthread_create(&threads[i], NULL, issue_until_cancelled, &begun) != 0) g_wrong++;
  }
  pthread_barrier_wait(&begun);
  for (int i = 0; i < kBeside; i++) pthread_cancel(threads[i]);
  for (int i = 0; i < kBeside; i++) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    if (result != PTHREAD_CANCELED) g_wrong++;
  }
  pthread_barrier_destroy(&begun);
}

int main(void) {
  const int own = omp_get_max_threads();
  for (int generation = 0; generation < kGenerations; generation++) {
    cancel_some();
    for (int i = 0; i < kOps; i++) {
      optile_op op;
      optile_op_begin(&op, "afterwards", NULL, 0);
      if (sum() != kExpected) g_wrong++;
      optile_op_end(&op);
      if (omp_get_max_threads() != own) g_wrong++;
    }
    optile_step();
  }
  printf("cancelled ops: %d threads, %ld surprises\n", kGenerations * kBeside, g_wrong);
  return g_wrong == 0 ? 0 : 1;
}
